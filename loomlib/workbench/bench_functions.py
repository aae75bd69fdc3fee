"""The Lambda functions of an account: list, create, call and delete; `bench.tools.functions`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..aws import functions
from ..aws.functions import FunctionAnswer, LambdaFunction
from ..errors import RequestRejectedError
from ..presentation.formats import milliseconds
from ..presentation.html import card
from .account_resources import AccountResources
from .context import Context
from .frames import function_frame


class FunctionReply:
    """Result of calling a function.

    Attributes:
        answer: The result with its log.
        labels: Provenance labels, such as "local AgentCore".
    """

    def __init__(self, answer: FunctionAnswer, labels: tuple[str, ...]) -> None:
        self.answer, self.labels = answer, labels

    @property
    def ok(self) -> bool:
        """Whether the function returned a result."""
        return not self.answer.is_error

    @property
    def value(self) -> Any:
        """The result; None if the function failed."""
        return self.answer.value if self.ok else None

    @property
    def error(self) -> str:
        """The error's type and message; "" without one."""
        return self.answer.error

    @property
    def log(self) -> str:
        """The last 4 KB of its log."""
        return self.answer.log

    @property
    def text(self) -> str:
        """The result as text, or the error."""
        value = self.answer.value
        return self.error or (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))

    def __repr__(self) -> str:
        state = "answered" if self.ok else "failed"
        return f"<FunctionReply: {state} in {milliseconds(self.answer.duration_ms)}>\n{self.text}"

    def _repr_html_(self) -> str:
        facts = [("client duration", milliseconds(self.answer.duration_ms)), ("version", self.answer.version)]
        state = ("good", "answered") if self.ok else ("bad", "failed")
        return card("Function", state=state, labels=self.labels, facts=facts, text=self.text)


class FunctionView:
    """One Lambda function.

    Args:
        context: The workbench's resources.
        value: The function.
    """

    def __init__(self, context: Context, value: LambdaFunction) -> None:
        self._context, self.value = context, value

    def __repr__(self) -> str:
        """Return its name, runtime and ARN."""
        return f"Function {self.value.name} ({self.value.runtime}), {self.value.arn}"

    def call(self, event: Any = None, *, qualifier: str | None = None) -> FunctionReply:
        """Call the function and wait for its result. An error of the function is a reply, not an exception.

        Args:
            event: The event for its handler: any JSON value; `{}` by default.
            qualifier: A version or an alias; the newest code by default.

        Raises:
            ResourceNotFoundError: There is no such version or alias.
        """
        answer = functions.call_function(self._context.clients, self.value, event, qualifier=qualifier)
        return FunctionReply(answer, self._context.labels)


class BenchFunctions(AccountResources[LambdaFunction, FunctionView]):
    """The Lambda functions that a workbench can reach; `bench.tools.functions`.

    Args:
        context: The workbench's resources.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(
            context,
            list_all=functions.list_functions,
            find=functions.find_function,
            delete=functions.delete_function,
            frame=function_frame,
            view=FunctionView,
        )

    def create(
        self,
        name: str,
        code: str | Path,
        *,
        handler: str | None = None,
        role_arn: str | None = None,
        environment: Mapping[str, str] | None = None,
        timeout_s: int = 30,
        description: str = "",
        region: str | None = None,
    ) -> FunctionView:
        """Create a Python function and wait until it can be called.

            orders = bench.tools.functions.create("orders", "orders.py")
            orders.call({"order": "4711"}).value

        Args:
            name: Its name.
            code: The path of a Python file, or of a folder with `app.py`. From a folder, caches, virtual environments,
                version control, `.env` files and links that lead outside are not uploaded.
            handler: `module.function`; `lambda_handler` of the file by default.
            role_arn: The role that it runs as; by default `loom-functions`, which may write logs and is created
                if missing.
            environment: Its environment variables.
            timeout_s: Timeout of a call in seconds, at most 900.
            description: A description.
            region: The AWS region; the connection's by default.

        Raises:
            ConflictError: The name is taken.
            RequestRejectedError: There is no code, or Lambda refuses the request.
        """
        path = Path(code)
        if not path.exists():
            raise RequestRejectedError("There is no such file or folder", on=str(path), try_="the path of a .py file")
        package, module = functions.zip_code(path)
        function = functions.create_function(
            self._context.clients,
            name,
            package,
            handler=handler or f"{module}.lambda_handler",
            role_arn=role_arn,
            environment=environment,
            timeout_s=timeout_s,
            description=description,
            region=region,
        )
        return FunctionView(self._context, function)
