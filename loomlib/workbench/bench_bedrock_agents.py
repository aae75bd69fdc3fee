"""The agents of Bedrock Agents ("Classic") of an account: list, ask and delete; `bench.bedrock.agents`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..aws import bedrock_agents
from ..aws.bedrock_agent_examples import create_agents
from ..aws.bedrock_agents import TEST_ALIAS, BedrockAgent
from ..errors import NotSupportedError
from ..evals import EvalSet
from ..evals.runs import EvalRun
from .account_resources import AccountResources
from .bedrock_agent_memory import BedrockAgentMemory
from .bedrock_agent_reply import BedrockAgentReply
from .bedrock_examples import example_cases, read_example
from .context import Context
from .frames import bedrock_agent_frame
from .wait_line import WaitLine

if TYPE_CHECKING:
    import pandas as pd

    from ..imports.bedrock_agents import ImportedAgent
    from ..imports.bedrock_agents.emit import FrameworkName
    from ..imports.bedrock_agents.parity.agent_parity import AgentParity
    from ..imports.bedrock_agents.parity.names import ToolNames
    from ..imports.bedrock_agents.parity.prompts import CasesSource
    from ..redaction import RedactionRule, Redactor
    from .agent import Agent
    from .agent_code import AgentCodeView
    from .agent_snapshot import AgentSnapshotView
    from .bedrock_agent_target import BedrockAgentTarget
    from .shadow_traffic import ShadowTraffic


class BedrockAgentView:
    """One agent of Bedrock Agents.

    Args:
        context: The workbench's resources.
        value: The agent.
    """

    def __init__(self, context: Context, value: BedrockAgent) -> None:
        self._context, self.value = context, value

    def __repr__(self) -> str:
        """Return its name, status and id."""
        return f"Bedrock agent {self.value.name} ({self.value.status.lower()}), {self.value.id}"

    def ask(
        self,
        prompt: str,
        *,
        session_id: str | None = None,
        alias: str = TEST_ALIAS,
        attributes: Mapping[str, str] | None = None,
        prompt_attributes: Mapping[str, str] | None = None,
        memory_id: str = "",
        files: Mapping[str, bytes] | None = None,
    ) -> BedrockAgentReply:
        """Ask the agent, with its trace.

        Args:
            prompt: The user's text.
            session_id: `reply.session_id` of an earlier question, to continue its session.
            alias: An alias's name or id; by default the one that runs the prepared working draft.
            attributes: Session attributes, which are passed to Lambda functions.
            prompt_attributes: Prompt session attributes, which the model reads in this turn as well.
            memory_id: The memory of the user, for an agent that remembers sessions; see `memory`.
            files: Files for an agent that executes code, by name; at most five.

        Raises:
            AgentFailedError: A dependency of the agent failed, such as a Lambda function.
            RequestRejectedError: Bedrock refuses the request, for example because the agent is not prepared.
            ResourceNotFoundError: There is no such alias.
        """
        state: dict[str, Any] = {"sessionAttributes": dict(attributes)} if attributes else {}
        state |= {"promptSessionAttributes": dict(prompt_attributes)} if prompt_attributes else {}
        if files:
            state["files"] = [bedrock_agents.code_file(name, content) for name, content in files.items()]
        clients = self._context.clients
        value = bedrock_agents.ask_bedrock_agent(
            clients,
            self.value,
            prompt,
            alias_id=bedrock_agents.find_alias(clients, self.value, alias),
            session_id=session_id,
            state=state,
            memory_id=memory_id,
        )
        return BedrockAgentReply(self._context, self.value, value)

    def memory(self, memory_id: str, *, alias: str = TEST_ALIAS) -> BedrockAgentMemory:
        """Return the agent's memory of a user's sessions.

            reply = agent.ask("My name is Ann.", memory_id="ann", alias="live")
            memory = agent.memory("ann", alias="live")
            memory.end_session(reply.session_id)
            memory.table()

        Args:
            memory_id: The memory, usually one for each user.
            alias: An alias's name or id.

        Raises:
            ResourceNotFoundError: There is no such alias.
        """
        alias_id = bedrock_agents.find_alias(self._context.clients, self.value, alias)
        return BedrockAgentMemory(self._context, self.value, alias_id=alias_id, memory_id=memory_id)

    def eval_target(
        self, alias: str = TEST_ALIAS, *, names: ToolNames | None = None, stream: bool = False
    ) -> BedrockAgentTarget:
        """Return the agent as the target of an evaluation.

            loom.evaluate(bench.bedrock.agents.get("support").eval_target(alias="live"), evalset)

        Args:
            alias: An alias's name or id; by default the one that runs the prepared working draft.
            names: Names of the agent's tools, such as those that its successor gives them.
            stream: Whether the final answer is streamed.

        Raises:
            ResourceNotFoundError: There is no such alias.
        """
        from .bedrock_agent_target import BedrockAgentTarget

        return BedrockAgentTarget(self._context, self.value, alias=alias, names=names, stream=stream)

    def study_target(self, alias: str = TEST_ALIAS, *, stream: bool = False) -> BedrockAgentTarget:
        """Return the agent as the target of a latency study (`loomlib.latency.MeasuredAgent`).

        Args:
            alias: An alias's name or id.
            stream: Whether the final answer is streamed.

        Raises:
            ResourceNotFoundError: There is no such alias.
        """
        return self.eval_target(alias, stream=stream)

    def evaluate(
        self, evalset: EvalSet, evaluators: Sequence[str] | str = (), *, alias: str = TEST_ALIAS, **options: Any
    ) -> EvalRun:
        """Run every case of a set on the agent and score its answers.

        Args:
            evalset: The cases. A case for an agent that returns control has the results in its initial state, such as
                `{"returnControl": {"get_weather": "21 degrees"}}`.
            evaluators: Evaluators, in addition to those of the set.
            alias: An alias's name or id.
            **options: Options of `loom.evaluate`: `repeats`, `run_id`, `timeout_s` …
        """
        from ..evals import evaluate

        return evaluate(self.eval_target(alias), evalset, evaluators, **options)

    def golden_set(
        self,
        cases: CasesSource | None = None,
        *,
        alias: str = TEST_ALIAS,
        imported: ImportedAgent | None = None,
        redact: Redactor | Sequence[RedactionRule] | None = None,
        **options: Any,
    ) -> EvalSet:
        """Ask the agent, and return its answers and tool calls as the expectations of an eval set, redacted.

            old.golden_set("prompts.txt", alias="live").write("support.json")

        Args:
            cases: An eval set, the path of one, a text file with a prompt in each line, or prompts; by default the
                prompts of the agent's stored invocations.
            alias: The alias to invoke.
            imported: This agent as it was imported, for the names that its successor gives its tools.
            redact: Redaction rules or a `Redactor`; None uses Loom's rules, an empty list redacts nothing.
            **options: Options of `loom.evaluate`: `timeout_s`, `concurrency`, `run_id` …

        Raises:
            EvalError: There are no cases, or no stored invocations.
        """
        from .bedrock_agent_parity import create_golden_set

        return create_golden_set(
            self._context, self.value, cases, alias=alias, imported=imported, redact=redact, **options
        )

    def parity(
        self,
        new: Agent,
        cases: CasesSource,
        *,
        alias: str = TEST_ALIAS,
        imported: ImportedAgent | None = None,
        **options: Any,
    ) -> AgentParity:
        """Run the same cases on this agent and its successor, and judge whether they behave alike.

            old, new = bench.bedrock.agents.get("support"), bench.agent("support")
            old.parity(new, "prompts.txt", alias="live", repeats=3)

        Args:
            new: The successor on AgentCore.
            cases: An eval set, the path of one, a text file with a prompt in each line, or prompts.
            alias: The alias of this agent to invoke.
            imported: This agent as it was imported, with the successor's tool names and what became of each feature.
            **options: `rule` (an `AlikeRule`), `least` (the share of cases that must behave alike, 0.95), `repeats`,
                `parity_id` (of a comparison to resume), `concurrency`, `timeout_s`, `stream`, `names` and `retries`.
        """
        from .bedrock_agent_parity import compare_with_successor

        return compare_with_successor(self._context, self.value, new, cases, alias=alias, imported=imported, **options)

    def shadow(self, new: Agent, *, share: float = 0.05, **options: Any) -> ShadowTraffic:
        """Return shadow traffic: one agent answers callers, the other gets the same prompts for a sample of sessions.

            with old.shadow(new, share=0.05, alias="live", safe=["orders"]) as traffic:
                traffic.ask("Where is my parcel?", session_id="caller-1").text
                traffic.drain()
                traffic.parity()

        Args:
            new: The successor on AgentCore.
            share: The share of sessions that are sampled, 0 to 1; always the same sessions.
            **options: `front` ("old" or "new", the agent that answers), `alias`, `safe` (action groups that only read,
                by name), `stubs` (results of calls that the shadow agent returns), `allow_side_effects`, `id` (of
                shadow traffic to resume), `salt`, `imported`, `names` and `timeout_s`.

        Raises:
            NotSupportedError: Calling both agents could cause side effects twice: action groups are not marked as safe.
        """
        from .bedrock_agent_shadow import shadow_traffic

        return shadow_traffic(self._context, self.value, new, share=share, **options)

    def configuration(self, version: str = "DRAFT") -> dict[str, Any]:
        """Return a version with its action groups, knowledge bases and collaborators, as Bedrock returns them.

        Args:
            version: A number, or DRAFT.

        Raises:
            ResourceNotFoundError: There is no such version.
        """
        return bedrock_agents.describe_bedrock_agent(self._context.clients, self.value, version=version)

    def snapshot(self, alias: str = "live") -> AgentSnapshotView:
        """Read the agent and everything that it consists of, without secrets; nothing is written to AWS.

            snapshot = bench.bedrock.agents.get("order-desk").snapshot("live")
            snapshot.features()
            snapshot.write("order-desk")

        Args:
            alias: The alias's name, id or ARN, whose version is read; "DRAFT" for the working draft, which is labelled
                as not immutable.

        Raises:
            ResourceNotFoundError: There is no such alias.
        """
        from ..imports.bedrock_agents.snapshot import take_snapshot  # imported only here, since it takes 60 ms
        from .agent_snapshot import AgentSnapshotView

        clients, agent = self._context.clients, self.value
        value = take_snapshot(clients, agent.id, alias=alias, region=agent.region, progress=WaitLine())
        return AgentSnapshotView(self._context, value)

    def generate(
        self, folder: str | Path, framework: FrameworkName = "strands", *, alias: str = "live"
    ) -> AgentCodeView:
        """Read the agent, and write its code for AgentCore into a folder; nothing is written to AWS.

            bench.bedrock.agents.get("order-desk").generate("order_desk", framework="langgraph")

        Args:
            folder: The folder; edits made there since it was last written are kept.
            framework: "strands" or "langgraph".
            alias: The alias's name, id or ARN, whose version is read; "DRAFT" for the working draft.

        Raises:
            LoomError: There is no such alias or framework, or the folder has files that were not generated.
        """
        return self.snapshot(alias).generate(folder, framework)

    def features(self, alias: str | None = None) -> pd.DataFrame:
        """Return what becomes of each feature on AgentCore, with the reasons; one row for each feature of each agent.

        Args:
            alias: The alias whose version is read; by default the most recently changed one, as in the inventory.

        Returns:
            agent, feature, state ("kept", "approximated", "lost", "needs you" or "unused"), reason.
        """
        from .agent_inventory import newest_alias

        return self.snapshot(alias or newest_alias(self._context, self.value)).features()


class BenchBedrockAgents(AccountResources[BedrockAgent, BedrockAgentView]):
    """The agents of Bedrock Agents that a workbench can reach; `bench.bedrock.agents`.

    Args:
        context: The workbench's resources.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(
            context,
            list_all=bedrock_agents.list_bedrock_agents,
            find=bedrock_agents.find_bedrock_agent,
            delete=bedrock_agents.delete_bedrock_agent,
            frame=bedrock_agent_frame,
            view=BedrockAgentView,
        )

    def create_example(self, name: str = "shop") -> BedrockAgentView:
        """Create an agent that ships with Loom, with its collaborators and their resources, on the local AgentCore.

            agent = bench.bedrock.agents.create_example("shop")
            agent.ask("What is the status of order 4711?", alias="live")

        An existing example is not created again. `shop` is a supervisor with three collaborators, two action groups
        of Lambda functions, one that returns control, a knowledge base and a guardrail.

        Args:
            name: The example's name.

        Raises:
            NotSupportedError: The workbench is connected to AWS, where Bedrock Agents is closed to new customers.
            ResourceNotFoundError: There is no such example.
            ConflictError: An agent with the same name exists that is not the example's.
        """
        declaration = read_example(name)
        if self._context.where != "local":
            raise NotSupportedError(
                "Examples of Bedrock Agents can only be created on the local AgentCore",
                on=name,
                try_="loom.connect() without an argument",
            )
        created = create_agents(self._context.clients, declaration, progress=WaitLine())
        return BedrockAgentView(self._context, created.root)

    def example_cases(self, name: str = "shop") -> EvalSet:
        """Return prompts for an agent that ships with Loom, with results of the calls that it returns to its caller.

            shop.parity(new, bench.bedrock.agents.example_cases("shop"), alias="live")

        Args:
            name: The example's name.

        Raises:
            ResourceNotFoundError: There is no such example.
        """
        return example_cases(name)
