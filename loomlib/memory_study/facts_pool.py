"""What a made-up actor may tell: facts with values, the sentences that plant, change and end them, and the questions.

Values are words that stand in no other sentence here, so that finding one means that the fact was found.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FactPool:
    """One fact: `told` plants it, `changed` and `ended` are empty where that makes no sense. `{v}` is a value."""

    key: str
    values: tuple[str, ...]
    told: tuple[str, ...]
    asked: tuple[str, ...]
    query: str
    changed: str = ""
    ended: str = ""


FACTS = (
    FactPool(
        key="allergy",
        values=("shellfish", "peanuts", "sesame", "celery", "mustard", "kiwi"),
        told=("Please keep in mind that I'm allergic to {v}.", "By the way, I'm allergic to {v}."),
        ended="The tests came back: I'm not allergic to {v}.",
        asked=(
            "I'm ordering food for my team's party on Friday. What am I allergic to?",
            "Before we choose a restaurant: which food do I have to avoid?",
        ),
        query="food allergies",
    ),
    FactPool(
        key="home",
        values=("Lisbon", "Oslo", "Graz", "Porto", "Ghent", "Turku"),
        told=("I live in {v}.", "Just so you know, I live in {v}."),
        changed="I moved to {v} last month.",
        asked=("Where do I live?", "Find me a gym near home. Which city do I live in?"),
        query="city where the user lives",
    ),
    FactPool(
        key="employer",
        values=("Initech", "Globex", "Hooli", "Umbrella Labs", "Vandelay Industries"),
        told=("I work at {v}.",),
        changed="I joined {v} this week.",
        ended="I left {v}.",
        asked=("Draft my email signature. Which company do I work for?", "Where do I work?"),
        query="employer, company",
    ),
    FactPool(
        key="diet",
        values=("vegetarian", "vegan", "pescatarian", "keto"),
        told=("I'm {v}.", "For dinner ideas: I'm {v}."),
        changed="I became {v}.",
        ended="I'm no longer {v}.",
        asked=("Suggest a dinner. What diet do I follow?",),
        query="diet",
    ),
    FactPool(
        key="dog",
        values=("Biscuit", "Waffles", "Juno", "Pepper", "Otis"),
        told=("My dog is called {v}.",),
        asked=("I need a name tag for the collar. What is my dog called?", "What is the name of my dog?"),
        query="name of the dog",
    ),
    FactPool(
        key="partner",
        values=("Marta", "Ingrid", "Noor", "Celeste"),
        told=("My wife is called {v}.",),
        asked=("I'm writing an anniversary card. What is my wife's name?",),
        query="name of the wife",
    ),
    FactPool(
        key="birthday",
        values=("3 March", "17 August", "29 October", "8 December"),
        told=("My birthday is {v}.",),
        asked=("When is my birthday?",),
        query="birthday",
    ),
    FactPool(
        key="colour",
        values=("turquoise", "crimson", "indigo", "ochre"),
        told=("My favorite color is {v}.",),
        changed="Actually, my favorite color is {v}.",
        asked=("Pick a phone case for me. What is my favorite color?",),
        query="favorite color",
    ),
    FactPool(
        key="car",
        values=("Skoda", "Subaru", "Volvo", "Fiat"),
        told=("I drive a {v}.",),
        changed="I now drive a {v}.",
        ended="I sold my car.",
        asked=("I'm booking a service. Which car do I drive?",),
        query="car the user drives",
    ),
    FactPool(
        key="language",
        values=("Korean", "Welsh", "Basque", "Icelandic"),
        told=("I'm learning {v}.",),
        asked=("Recommend a podcast. Which language am I learning?",),
        query="language being learned",
    ),
    FactPool(
        key="booking",
        values=("KX7T2M", "QF93LD", "BN40RW", "ZT8PHA"),
        told=("My booking reference is {v}.",),
        changed="My new booking reference is {v}.",
        asked=("I'm at the check-in desk. What is my booking reference?",),
        query="booking reference",
    ),
    FactPool(
        key="coffee",
        values=("oat milk", "cinnamon", "cardamom", "honey"),
        told=("With coffee it has to be {v}, always.", "A splash of {v} goes into every coffee I have."),
        asked=("Order my usual at the café. How do I take my coffee?",),
        query="how the user takes coffee",
    ),
    FactPool(
        key="deadline",
        values=("12 June", "30 September", "21 January", "5 November"),
        told=("My thesis deadline is {v}.",),
        changed="Correction: my thesis deadline is {v}.",
        asked=("Plan my next weeks. When is my thesis deadline?",),
        query="thesis deadline",
    ),
)

SMALL_TALK = (
    ("Can you turn this list into a table?", "Here is the table."),
    ("What's a good title for a talk about testing?", "How about: What the tests did not say."),
    ("Please shorten the second paragraph.", "Done; it has two sentences now."),
    ("How many minutes are there in a week?", "A week has 10,080 minutes."),
    ("Translate 'good morning' into French.", "Bonjour."),
    ("My friend Tom said he is allergic to pollen.", "That sounds unpleasant for Tom."),
    ("Is the museum open on Mondays?", "Most museums are closed on Mondays."),
    ("My neighbor said she moved to Denver.", "A big step for her."),
    ("Explain what a hash table is.", "It finds a value by a number that is computed from its key."),
    ("Maybe I should learn to sail some day.", "A weekend course is a good beginning."),
    ("Give me three ideas for a team outing.", "A boat trip, a cooking class, or a day in the hills."),
    ("Thanks, that was useful.", "You are welcome."),
    ("Rewrite this politely, please.", "Here is a friendlier version."),
    ("What is the boiling point of water in Fahrenheit?", "212 degrees at sea level."),
    ("The article says that most people sleep too little.", "Seven to nine hours are often recommended."),
    ("Should I use a list or a dictionary here?", "A dictionary, when you look things up by name."),
    ("Count the words in this sentence, please.", "There are seven words in it."),
    ("Suggest a password policy for a small company.", "Long passphrases and a second factor."),
    ("Is a tomato a fruit?", "Botanically it is a berry."),
    ("Draft an invitation for the stand-up.", "Here is a short invitation."),
)
"""What is said and answered between the facts: nothing about the actor that is asked for later."""

IDLE_QUESTIONS = (
    "What is 17 times 3?",
    "Please capitalize this sentence.",
    "How do I spell 'necessary'?",
    "What is the plural of 'analysis'?",
)
"""Turns that need no memory: what retrieval costs there it costs for nothing."""
