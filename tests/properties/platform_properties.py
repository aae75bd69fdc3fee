"""The 27 properties of a platform for agents: which test holds each of them here, or why it does not apply.

`python tests/properties/platform_properties.py` writes the page of the documentation; a test compares the two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "pages" / "explanations" / "platform-properties.md"

_HERE = "tests/properties/test_platform_properties.py"
_CODE = "tests/service/test_code_interpreter.py"
_HEAD = """# Properties of a platform for agents

A platform on which several customers run agents should have these 27 properties. Each has a test that runs against real
parts: the local AgentCore over HTTP, and the store on SQLite and PostgreSQL. The tests that are marked *any input* draw
their inputs with Hypothesis; the others are examples. Where a property does not apply to a notebook workbench, the
reason is given instead.

`tests/properties/platform_properties.py` writes this page, and a test fails when it and the tests differ.
"""


@dataclass(frozen=True, kw_only=True)
class Property:
    """One property: `test`, and `also`, hold it, or `reason` says why it does not apply."""

    number: int
    name: str
    says: str
    test: str = ""
    reason: str = ""
    also: str = ""

    def tests(self) -> list[tuple[str, str]]:
        """Return the file and the name of each test."""
        places = [test.partition("::") for test in (self.test, self.also) if test]
        return [(file, name) for file, _, name in places]


def text_of(file: str, name: str) -> str:
    """Return the text of a test with its decorators; "" when there is none."""
    parts = (ROOT / file).read_text("utf-8").split("\n\n\n")
    definition = re.compile(rf"^(?:(?:async )?def {name}\(|{name} = )", re.MULTILINE)
    return next((part for part in parts if definition.search(part)), "")


def is_for_any_input(file: str, name: str) -> bool:
    """Return whether Hypothesis draws the inputs of a test."""
    return "@given(" in text_of(file, name) or name.startswith("Test")


PROPERTIES = (
    Property(
        number=1, name="Runs go to the runtime",
        says="A run of an agent is an invocation of its AgentCore runtime, in a session that the service lists.",
        test=f"{_HERE}::test_a_run_is_an_invocation_of_the_runtime_and_is_stored_as_it_came",
    ),
    Property(
        number=2, name="Runs at the same time",
        says="Runs at the same time all complete, each in a session and with an answer of its own.",
        test=f"{_HERE}::test_runs_at_the_same_time_complete_each_with_its_own_answer",
    ),
    Property(
        number=3, name="Results are stored",
        says="The store has a record of each completed run with its state and its answer.",
        test=f"{_HERE}::test_a_run_is_an_invocation_of_the_runtime_and_is_stored_as_it_came",
    ),
    Property(
        number=4, name="Code runs in a code interpreter",
        says="Code is executed by a session of an AgentCore code interpreter.",
        test=f"{_CODE}::test_variables_are_kept_between_cells_and_the_last_expression_is_shown",
    ),
    Property(
        number=5, name="Files reach the code",
        says="A file that is written to a session of a code interpreter is read there, and nowhere else.",
        test=f"{_CODE}::test_files_are_written_listed_read_and_removed",
        also="tests/service/test_tenant_tools.py::test_files_and_variables_of_a_code_session_are_its_tenants",
    ),
    Property(
        number=6, name="Browsers are AgentCore's",
        says="A browser is a resource of AgentCore with sessions of its own.",
        test="tests/service/test_browsers.py::test_a_browser_is_created_read_listed_and_deleted",
    ),
    Property(
        number=7, name="A memory for each conversation",
        says="A memory exists for each new conversation.",
        reason="An AgentCore memory belongs to an agent and is partitioned by actor and session; a memory for each "
        "conversation would exhaust the quota of memories. Properties 8, 22 and 24 hold for the partitions.",
    ),
    Property(
        number=8, name="Messages are in the memory",
        says="A message that is stored in a memory is found there with its metadata.",
        test="tests/service/memory/test_memory_http_model.py::TestOverHttp",
    ),
    Property(
        number=9, name="Tools come through a gateway",
        says="The tools of a configured server are listed and called through an AgentCore gateway.",
        test="tests/service/gateways/test_gateway_calls.py"
        "::test_the_mcp_sdk_lists_and_calls_tools_of_both_kinds_of_targets",
    ),
    Property(
        number=10, name="A catalog of servers",
        says="A query of the catalog of tool servers is answered by the platform's own database.",
        reason="Loom offers no catalog of other people's tool servers; a user names the targets of a gateway. The "
        "catalog that Loom has is that of the user's own agents, in its store (property 19).",
    ),
    Property(
        number=11, name="Consent by OAuth",
        says="A user's consent is asked for and kept by AgentCore's identity service.",
        test="tests/service/identity/test_consent_sessions.py::test_a_user_gives_consent_once",
    ),
    Property(
        number=12, name="Credentials are in the vault",
        says="A credential is in the vault of the account; no table of the store and no address shows it.",
        test="tests/service/gateways/test_gateway_calls.py"
        "::test_an_api_key_of_the_vault_reaches_the_target_and_nobody_else",
    ),
    Property(
        number=13, name="The former conversation classes",
        says="The methods of the former platform's conversation class keep their signatures.",
        reason="Loom replaces no former platform. Its own renamed names keep working for a release, which "
        "`tests/service/workbench/test_former_names.py` holds.",
    ),
    Property(
        number=14, name="Requests reach the right tool",
        says="A request is sent to the target that the rules of the gateway choose.",
        test="tests/service/gateways/test_gateway_rules.py"
        "::test_each_kind_of_action_is_that_of_the_first_rule_that_matches",
    ),
    Property(
        number=15, name="Runs are charged",
        says="A tenant's used credit is the sum of its runs' known costs and the amounts reserved for its other runs.",
        test=f"{_HERE}::test_the_used_credit_is_the_sum_of_the_costs_and_of_what_is_held",
        also=f"{_HERE}::test_credit_that_is_held_for_many_calls_is_never_more_than_a_tenant_has",
    ),
    Property(
        number=16, name="The public call starts a run",
        says="A call of the public interface creates a run on the runtime.",
        test=f"{_HERE}::test_a_run_is_an_invocation_of_the_runtime_and_is_stored_as_it_came",
    ),
    Property(
        number=17, name="Answers are streamed",
        says="The pieces of an answer arrive in order, and together they are the stored answer.",
        test=f"{_HERE}::test_the_pieces_of_an_answer_arrive_in_order_and_are_the_stored_answer",
    ),
    Property(
        number=18, name="Packages are valid",
        says="Deploying an agent makes a package that the runtime accepts, with its requirements.",
        test="tests/service/deploy/test_deploy_on_aws.py::test_the_package_brings_its_requirements",
    ),
    Property(
        number=19, name="Deployments are found again",
        says="A registered runtime is found by its ARN and id, even after the store has been reopened.",
        test=f"{_HERE}::test_a_registered_runtime_is_found_again_in_its_own_environment_only",
    ),
    Property(
        number=20, name="Without the memory",
        says="Messages are read from the database when the memory cannot be reached.",
        reason="Loom's own history of conversations is in its store and never read from the memory, so there is "
        "nothing to fall back from. What an agent does without its memory is decided by its own code.",
    ),
    Property(
        number=21, name="Runs of different tenants are isolated",
        says="A caller of one tenant never enters a session of another tenant, and whatever two tenants do, each sees "
        "exactly its own rows.",
        also=f"{_HERE}::test_each_tenant_sees_exactly_its_own_rows",
        test="tests/service/test_session_tenants.py::test_the_first_tenant_of_a_session_keeps_it_over_restarts",
    ),
    Property(
        number=22, name="Tenants' memory data is isolated",
        says="Whatever two tenants write into one memory, each reads exactly its own events and records, and a session "
        "reaches only the memories that its runtime names.",
        test="tests/service/test_tenant_resources.py"
        "::test_whatever_two_tenants_write_into_one_memory_each_reads_exactly_its_own",
        also="tests/service/test_session_keys.py"
        "::test_models_its_own_log_group_and_the_memories_it_was_given_are_allowed",
    ),
    Property(
        number=23, name="Credentials are isolated",
        says="The key of a session opens no secret, memory or agent that its role does not name, and credentials are "
        "given to their own tenant only.",
        test="tests/attacks/test_attacks.py::test_a_session_s_key_opens_nothing_else",
        also="tests/service/test_tenant_resources.py::test_credentials_are_given_to_their_own_tenant_only",
    ),
    Property(
        number=24, name="Memories are intact",
        says="All events of a conversation come back in order, as they were given.",
        test="tests/service/memory/test_memory_http_model.py::TestOverHttp",
    ),
    Property(
        number=25, name="One runner for each study",
        says="Of several processes that want to run a study, exactly one does, without a server for locks.",
        test=f"{_HERE}::test_of_several_runners_exactly_one_gets_the_study",
    ),
    Property(
        number=26, name="No broker between agent and reader",
        says="An answer is streamed from the runtime to the reader over one HTTP response.",
        test=f"{_HERE}::test_the_pieces_of_an_answer_arrive_in_order_and_are_the_stored_answer",
    ),
    Property(
        number=27, name="Environments are isolated",
        says="What belongs to one environment is never used in another.",
        test=f"{_HERE}::test_a_registered_runtime_is_found_again_in_its_own_environment_only",
    ),
)  # fmt: skip


def page() -> str:
    """Return the page of the documentation."""
    lines = [_HEAD, "| | property | tested by |", "|---|---|---|"]
    for item in PROPERTIES:
        if item.test:
            holder = ", ".join(
                f"`{name}` in `{file}`" + (" (any input)" if is_for_any_input(file, name) else "")
                for file, name in item.tests()
            )
        else:
            holder = f"*does not apply:* {item.reason}"
        lines.append(f"| {item.number} | **{item.name}.** {item.says} | {holder} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
