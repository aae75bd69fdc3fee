"""A small server that answers for an AWS account: what `loom doctor aws` asks, in AWS's own forms."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

CALLER = """<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>
<Arn>arn:aws:sts::123456789012:assumed-role/Team/someone</Arn><UserId>A:someone</UserId><Account>123456789012</Account>
</GetCallerIdentityResult></GetCallerIdentityResponse>"""
ROLE = """<GetRoleResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><GetRoleResult><Role><Path>/</Path>
<Arn>arn:aws:iam::123456789012:role/people/Team</Arn><RoleName>Team</RoleName><RoleId>AROAEXAMPLEEXAMPLE01</RoleId>
<CreateDate>2026-01-01T00:00:00Z</CreateDate></Role></GetRoleResult></GetRoleResponse>"""
REFUSED = """<ErrorResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><Error><Type>Sender</Type>
<Code>{code}</Code><Message>{message}</Message></Error><RequestId>1</RequestId></ErrorResponse>"""


class Account:
    """What the account is like; a test changes what it is about."""

    def __init__(self) -> None:
        self.denied: set[str] = set()
        self.may_simulate = True
        self.expired = False
        self.quotas: list[Mapping[str, Any]] = [
            {"QuotaName": "Active session workloads per account", "Value": 1000.0, "Adjustable": True}
        ]
        self.model = {
            "modelId": "m",
            "agreementAvailability": {"status": "AVAILABLE"},
            "authorizationStatus": "AUTHORIZED",
            "entitlementAvailability": "AVAILABLE",
            "regionAvailability": "AVAILABLE",
        }
        self.spans = {"Destination": "CloudWatchLogs", "Status": "ACTIVE"}
        self.policies = [{"policyDocument": '{"Principal": "xray.amazonaws.com", "Resource": "log-group:aws/spans:*"}'}]
        self.simulated: str = ""

    def answer(self, path: str, target: str, body: bytes) -> tuple[int, str, str]:
        """Return the status, the content type and the body for a request."""
        form = {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
        if action := form.get("Action"):
            return self._query(action, form)
        operation = target.rpartition(".")[2]
        answers: dict[str, Any] = {
            "ListServiceQuotas": {"Quotas": self.quotas},
            "DescribeLogGroups": {"logGroups": [{"logGroupName": "/aws/bedrock-agentcore/runtimes/a-DEFAULT"}]},
            "DescribeResourcePolicies": {"resourcePolicies": self.policies},
            "DescribeRepositories": {"repositories": []},
            "ListProjects": {"projects": []},
        }
        if operation:
            if operation in self.denied:
                return self._json(400, {"__type": "AccessDeniedException", "message": f"not authorized: {operation}"})
            return self._json(200, answers[operation])
        if path.startswith("/foundation-model-availability/"):
            return self._json(200, self.model)
        if path == "/GetTraceSegmentDestination":
            return self._json(200, self.spans)
        empty = {"/runtimes/": "agentRuntimes", "/memories/": "memories", "/agents/": "agentSummaries"}
        for begin, member in empty.items():
            if path.startswith(begin):
                return self._json(200, {member: []})
        return 200, "application/xml", "<ListAllMyBucketsResult><Buckets/></ListAllMyBucketsResult>"

    def _query(self, action: str, form: Mapping[str, str]) -> tuple[int, str, str]:
        if self.expired:
            return 403, "text/xml", REFUSED.format(code="ExpiredToken", message="The token is expired")
        if action == "GetCallerIdentity":
            return 200, "text/xml", CALLER
        if action == "GetRole":
            return 200, "text/xml", ROLE
        if action == "ListRoles":
            return 200, "text/xml", "<ListRolesResponse><ListRolesResult><Roles/></ListRolesResult></ListRolesResponse>"
        if not self.may_simulate:
            return 403, "text/xml", REFUSED.format(code="AccessDenied", message="not authorized to simulate")
        self.simulated = form["PolicySourceArn"]
        actions = [value for name, value in form.items() if name.startswith("ActionNames.member")]
        members = "".join(
            f"<member><EvalActionName>{name}</EvalActionName><EvalDecision>"
            f"{'implicitDeny' if name in self.denied else 'allowed'}</EvalDecision></member>"
            for name in actions
        )
        return 200, "text/xml", (
            "<SimulatePrincipalPolicyResponse><SimulatePrincipalPolicyResult><IsTruncated>false</IsTruncated>"
            f"<EvaluationResults>{members}</EvaluationResults>"
            "</SimulatePrincipalPolicyResult></SimulatePrincipalPolicyResponse>"
        )  # fmt: skip

    def _json(self, status: int, value: object) -> tuple[int, str, str]:
        return status, "application/json", json.dumps(value)


@contextmanager
def serving(account: Account) -> Iterator[str]:
    """Serve the account on a loopback port of the system's choice; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, kind, text = account.answer(self.path, self.headers.get("X-Amz-Target") or "", body)
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
