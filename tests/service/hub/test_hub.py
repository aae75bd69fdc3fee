"""Two users on one hub: system users, HTTPS, one PostgreSQL, one shared catalog, and nothing of each other's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from hub_machine import HubMachine, HubUser, why_no_hub
from postgresql_server import PostgresqlServer, find_programs

from loomlib.store import Tenants

pytestmark = pytest.mark.skipif(bool(reason := why_no_hub()), reason=reason)

TRIED = """
import contextlib, os

def tried(path):
    try:
        return len(os.listdir(path)) if os.path.isdir(path) else len(open(path, "rb").read())
    except OSError as error:
        return type(error).__name__
"""
# The first cells of the first lesson follow, from the user's own copy.
WORK = """
answer = agent.invoke("What is 6 * {number}?")
shared = bench.deploy("class_agent", name="shared_{number}").invoke("anything")
import json
with open(os.path.expanduser("~/.loom/service.json")) as file:
    service = json.load(file)
print(json.dumps({{
    "text": answer.text, "shared": shared.text, "agents": sorted(bench.agents()["name"]),
    "user": os.getuid(), "pid": os.getpid(), "port": service["port"],
    "server": os.environ["JUPYTERHUB_SERVICE_URL"], "secret": os.environ.get("HUB_OWN_SECRET"),
    "database": os.environ.get("DATABASE_URL", ""), "sets": [case.id for case in evals.EvalSet.read("class_set").cases],
}}))
"""
SHARED_AGENT = """
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()

@app.entrypoint
def answer(payload):
    return "from the catalog"

if __name__ == "__main__":
    app.run()
"""


def lines(user: HubUser, code: str) -> Any:
    """What code prints as JSON on its last line."""
    return json.loads(user.execute(code).strip().splitlines()[-1])


@pytest.fixture(scope="module")
def machine(request: pytest.FixtureRequest) -> Iterator[HubMachine]:
    machine = HubMachine(["anna", "ben", "carl", "tess"], teachers=["tess"])
    try:
        catalog = machine.settings.catalog
        (catalog / "blueprints" / "class_agent").mkdir()
        (catalog / "blueprints" / "class_agent" / "agent.py").write_text(SHARED_AGENT)
        (catalog / "eval_sets" / "class_set.evalset.json").write_text(
            '{"eval_set_id": "class_set", "eval_cases": [{"eval_id": "one", "conversation":'
            ' [{"user_content": {"parts": [{"text": "from the teacher"}]}}]}]}'
        )
        if find_programs() is not None:
            server: PostgresqlServer = request.getfixturevalue("postgresql_server")
            with Tenants.open(server.url(server.create_migrated(), user="postgres")) as tenants:
                for name in ("anna", "ben"):
                    file = machine.settings.databases / name
                    file.write_text(f"DATABASE_URL={tenants.add(name).database_url}\n")
                    file.chmod(0o600)
        machine.home("carl").chmod(0o755)
        machine.start()
        yield machine
    finally:
        machine.close()


@pytest.fixture(scope="module")
def users(machine: HubMachine) -> Iterator[dict[str, HubUser]]:
    users = {name: machine.sign_in(name) for name in ("anna", "ben")}
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(HubUser.start, users.values()))
    yield users
    for user in users.values():
        user.close()


@pytest.fixture(scope="module")
def seen(users: dict[str, HubUser]) -> dict[str, dict[str, Any]]:
    """What each user saw after the first cells of the first lesson, an invocation and an agent of the catalog."""

    def work(user: HubUser, number: int) -> dict[str, Any]:
        cells = user.notebook("workshop/1_your_first_agent.ipynb")["cells"]
        sources = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
        user.execute(f"{TRIED}\nfrom loomlib import evals")
        for source in sources[:2]:
            user.execute(source)
        return lines(user, WORK.format(number=number))

    with ThreadPoolExecutor(2) as pool:
        works = pool.map(work, users.values(), (7, 8))
        return dict(zip(users, works, strict=True))


def test_each_user_does_the_first_lesson_with_agents_of_their_own(seen: dict[str, dict[str, Any]]) -> None:
    anna, ben = seen["anna"], seen["ben"]
    assert ("42" in anna["text"], "48" in ben["text"]) == (True, True)
    assert anna["agents"] == ["calculator", "shared_7"]
    assert ben["agents"] == ["calculator", "shared_8"]
    assert anna["user"] != ben["user"]
    assert anna["port"] != ben["port"]


def test_the_shared_catalog_gives_blueprints_and_eval_sets_that_no_user_can_change(
    machine: HubMachine, users: dict[str, HubUser], seen: dict[str, dict[str, Any]]
) -> None:
    assert (seen["anna"]["shared"], seen["anna"]["sets"]) == ("from the catalog", ["one"])
    agent = machine.settings.catalog / "blueprints" / "class_agent" / "agent.py"
    code = f"print(json.dumps([os.access(path, os.W_OK) for path in {[str(agent), str(agent.parent)]}]))"
    assert lines(users["anna"], code) == [False, False]


def test_a_user_reads_no_file_and_no_process_of_another_and_nothing_of_the_hub(
    machine: HubMachine, users: dict[str, HubUser], seen: dict[str, dict[str, Any]]
) -> None:
    ben, settings = machine.home("ben"), machine.settings
    closed = [
        *(ben, ben / "workshop", ben / ".loom", ben / ".loom" / "service.json", ben / ".loom" / "loom.db"),
        *(settings.run / "ben", settings.state, settings.databases, settings.databases / "ben"),
        *(settings.certificates / "key.pem", f"/proc/{seen['ben']['pid']}/environ", "/etc/shadow"),
    ]
    code = f"print(json.dumps([tried(path) for path in {[str(path) for path in closed]}]))"
    assert lines(users["anna"], code) == ["PermissionError"] * len(closed)
    assert lines(users["anna"], f"print(json.dumps(tried({str(settings.run / 'anna')!r})))") >= 3
    assert [seen[name]["secret"] for name in seen] == [None, None]


def test_a_user_is_refused_by_the_services_and_servers_of_another(
    machine: HubMachine, users: dict[str, HubUser], seen: dict[str, dict[str, Any]]
) -> None:
    code = f"""
import boto3, requests
from botocore.exceptions import ClientError

client = boto3.client(
    "bedrock-agentcore-control", endpoint_url="http://127.0.0.1:{seen["ben"]["port"]}", region_name=service["region"],
    aws_access_key_id=service["access_key"], aws_secret_access_key=service["secret_key"],
)
try:
    client.list_agent_runtimes()
    found = ["listed"]
except ClientError as error:
    found = [error.response["ResponseMetadata"]["HTTPStatusCode"]]
for url in ({seen["ben"]["server"]!r}, os.environ["JUPYTERHUB_API_URL"]):
    try:
        found.append(requests.get(url, verify=False, timeout=30).status_code)
    except requests.exceptions.RequestException as error:
        found.append("refused")
print(json.dumps(found))
"""
    assert lines(users["anna"], code) == [403, "refused", "refused"]
    paths = (f"{machine.url}user/ben/api/contents", f"{machine.url}hub/api/users/ben")
    answers = [
        requests.get(path, headers=users["anna"].headers, verify=machine.authority, timeout=60) for path in paths
    ]
    assert {answer.status_code for answer in answers} <= {403, 404}


def test_a_users_jupyterlab_neither_asks_about_news_nor_looks_for_updates(
    machine: HubMachine, users: dict[str, HubUser]
) -> None:
    path = f"{machine.url}user/anna/lab/api/settings/@jupyterlab/apputils-extension:notification"
    response = requests.get(path, headers=users["anna"].headers, verify=machine.authority, timeout=60)
    defaults = {name: field["default"] for name, field in response.json()["schema"]["properties"].items()}
    assert (defaults["fetchNews"], defaults["checkForUpdates"]) == ("false", False)


@pytest.mark.skipif(find_programs() is None, reason="needs PostgreSQL's server")
def test_a_user_reads_no_row_of_another_in_the_shared_database(
    users: dict[str, HubUser], seen: dict[str, dict[str, Any]]
) -> None:
    assert seen["anna"]["database"].partition("@")[0] != seen["ben"]["database"].partition("@")[0]
    code = """
import psycopg

with psycopg.connect(os.environ["DATABASE_URL"].replace("+psycopg", "")) as connection:
    print(json.dumps(sorted(row[0] for row in connection.execute("select prompt from invocations"))))
"""
    assert lines(users["anna"], code) == ["What is 6 * 7?", "anything"]
    assert lines(users["ben"], code) == ["What is 6 * 8?", "anything"]


def test_a_wrong_password_is_refused_and_an_open_home_folder_is_named(machine: HubMachine) -> None:
    carl = machine.sign_in("carl")
    with pytest.raises(AssertionError, match=r"Others can open the home folder .*chmod 700"):
        carl.start()
    carl.close()
    machine.passwords["nobody"] = machine.passwords["carl"]
    with pytest.raises(AssertionError, match="Invalid username or password"):
        machine.sign_in("nobody")


def test_a_teacher_administrates_the_hub_and_a_student_does_not(machine: HubMachine) -> None:
    tess, carl = machine.sign_in("tess"), machine.sign_in("carl")
    assert {"tess", "carl"} <= {user["name"] for user in tess.hub("GET", "users").json()}
    assert carl.hub("GET", "users").status_code == 403
    for user in (tess, carl):
        user.close()
