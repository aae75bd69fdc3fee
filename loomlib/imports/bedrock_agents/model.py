"""An agent of Bedrock Agents ("Classic") as values, as read from Bedrock and used to generate code.

`ImportedAgent` is the root. It does not depend on boto3, files or a framework:

    ImportedAgent
    ├── model: ModelChoice
    ├── prompts: PromptStep …               one for each step; each with its InferenceParameters
    ├── action_groups: ActionGroup …
    │   └── tools: ImportedTool …           functions and OpenAPI operations, in one form
    │       └── parameters: ToolParameter …
    ├── knowledge_bases: AgentKnowledgeBase …
    ├── guardrail: AgentGuardrail | None
    ├── memory: MemorySettings | None
    └── collaborators: Collaborator …
        └── agent: ImportedAgent | None     to five levels
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

DEEPEST: Final = 5
"""Levels of agents, the supervisor being the first (Bedrock user guide, "multi-agent collaboration")."""

ModelKind = Literal["foundation model", "inference profile", "prompt router", "provisioned throughput", "custom model"]
"""The kind of resource that an agent's model identifier names."""

StepName = Literal[
    "pre_processing",
    "orchestration",
    "post_processing",
    "knowledge_base_response",
    "memory_summarization",
    "routing_classifier",
]
"""A step of an agent's turn, each with a prompt."""

Executor = Literal["lambda", "return_control", "built_in", "none"]
"""Executor of an action group: a Lambda function, the agent's caller, Bedrock itself, or none."""

SchemaKind = Literal["functions", "openapi", "built_in", "missing"]
"""Kind of an action group's tool description; "missing" if it cannot be read."""

BuiltIn = Literal["user_input", "code_interpreter", "computer", "bash", "text_editor"]
"""A built-in action group of Bedrock."""

ParameterPlace = Literal["function", "path", "query", "header", "cookie", "body"]
"""Destination of a tool's parameter: a function, or a part of an HTTP request."""

Collaboration = Literal["none", "supervisor", "router"]
"""Collaboration mode of an agent: none, collaborators as tools, or a routing classifier that chooses one first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceParameters:
    """Parameters of a model's call; None if the model's default applies.

    Attributes:
        temperature: The temperature.
        top_p: The cumulative probability of the tokens to sample from.
        top_k: The number of tokens to sample from.
        max_tokens: The longest answer, in tokens.
        stop_sequences: Texts that end the answer.
        more: `additionalModelRequestFields`, as the model's provider defines them.
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    stop_sequences: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """The model that an agent uses.

    Attributes:
        identifier: The id or the ARN, as configured and as accepted by Converse.
        kind: The kind of resource that the identifier names.
        model_ids: The foundation models behind it: the model itself, or those that an inference profile or a prompt
            router routes to; empty if they cannot be read.
    """

    identifier: str
    kind: ModelKind = "foundation model"
    model_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptStep:
    """A step of an agent's turn, with its prompt.

    Attributes:
        name: The step.
        is_enabled: Whether the step is enabled.
        is_overridden: Whether `template` replaces Bedrock's own.
        template: The template, with Bedrock's `$placeholders$`; "" if it is Bedrock's own, which is not shown.
        inference: The inference parameters of the step's model call.
        model: The step's own model, "" for the agent's.
        parser_lambda: The ARN of the Lambda function that parses the model's answer, "" for Bedrock's own parser.
    """

    name: StepName
    is_enabled: bool
    is_overridden: bool = False
    template: str = ""
    inference: InferenceParameters = field(default_factory=InferenceParameters)
    model: str = ""
    parser_lambda: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolParameter:
    """A parameter of a tool.

    Attributes:
        name: Its name for a model: at most 64 of the characters a-z, A-Z, 0-9, _, . and -.
        type: Its JSON type: "string", "number", "integer", "boolean", "array" or "object".
        description: The description for the model.
        is_required: Whether it is required in a call.
        place: Its destination.
        schema: Its JSON schema in full, without references (`items`, `enum`, nested `properties`, `format`).
        wire_name: Its name in the event or the request if it differs from `name`, else "": a path and
            a body may both have an `id`, and a query a `filter[status]`. Read it through `sent_name`.
    """

    name: str
    type: str = "string"
    description: str = ""
    is_required: bool = False
    place: ParameterPlace = "function"
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])
    wire_name: str = ""

    @property
    def sent_name(self) -> str:
        """Its name in the event or the request."""
        return self.wire_name or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTool:
    """A function or an OpenAPI operation of an action group.

    Attributes:
        name: Its name for a model: at most 64 of the characters a-z, A-Z, 0-9, _ and -, unique within its agent.
        description: The description for the model.
        parameters: Its parameters in the order of the schema, with unique names.
        requires_confirmation: Whether the user must confirm each call.
        function: The function's name in the Lambda event, "" for an OpenAPI operation.
        path: The operation's `apiPath` in the Lambda event, "" for a function.
        method: The operation's HTTP method in capitals, "" for a function.
        content_type: The content type of the operation's body, "" without a body.
        body_is_whole: Whether the body is a single non-object value, in its only parameter with the place "body".
    """

    name: str
    description: str = ""
    parameters: tuple[ToolParameter, ...] = ()
    requires_confirmation: bool = False
    function: str = ""
    path: str = ""
    method: str = ""
    content_type: str = ""
    body_is_whole: bool = False

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments, as one object."""
        properties: dict[str, Any] = {}
        for parameter in self.parameters:
            described = {"description": parameter.description} if parameter.description else {}
            properties[parameter.name] = {"type": parameter.type, **parameter.schema, **described}
        required = [parameter.name for parameter in self.parameters if parameter.is_required]
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        return {**schema, "required": required} if required else schema


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionGroup:
    """An action group.

    Attributes:
        id: Its id.
        name: Its name in the Lambda event.
        description: Its description.
        is_enabled: Whether the agent may use it.
        executor: The executor of its calls.
        lambda_arn: The ARN of its Lambda function, "" for another executor.
        schema: The kind of its tool description.
        tools: Its tools; empty for a built-in action group, and if the schema is missing.
        api_document: The unmodified OpenAPI document, with its references; None for another schema.
        api_source: The source of the document: "inline", an address in S3, or "".
        built_in: The built-in action group that it is, None for others.
        built_in_parameters: The parameters of a built-in action group.
        problem: Why it is not imported in full, "" if it is.
    """

    id: str
    name: str
    description: str = ""
    is_enabled: bool = True
    executor: Executor
    lambda_arn: str = ""
    schema: SchemaKind
    tools: tuple[ImportedTool, ...] = ()
    api_document: Mapping[str, Any] | None = field(default=None, repr=False)
    api_source: str = ""
    built_in: BuiltIn | None = None
    built_in_parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKnowledgeBase:
    """A knowledge base of an agent.

    Attributes:
        id: Its id.
        name: Its name, "" if it cannot be read.
        description: When the agent should use it, as read by the model.
        is_enabled: Whether the agent may use it.
        problem: Why it is not imported in full, "" if it is.
    """

    id: str
    name: str = ""
    description: str = ""
    is_enabled: bool = True
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentGuardrail:
    """A guardrail of an agent.

    Attributes:
        id: Its id or its ARN, as configured.
        version: A number, or DRAFT.
        name: Its name, "" if it cannot be read.
        problem: Why it is not imported in full, "" if it is.
    """

    id: str
    version: str = "DRAFT"
    name: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """Long-term memory: summaries of an agent's sessions.

    Attributes:
        storage_days: Number of days for which a summary is stored.
        max_recent_sessions: Number of sessions whose summaries are included in the prompt.
    """

    storage_days: int = 30
    max_recent_sessions: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Collaborator:
    """An agent that another one delegates to.

    Attributes:
        id: The collaboration's id.
        name: The name by which the supervisor calls it.
        instruction: When the supervisor should call it.
        shares_history: Whether it receives the supervisor's conversation.
        alias_arn: The alias that is called.
        agent: The agent; None if it was not read.
        problem: Why it was not read, "" if it was.
    """

    id: str
    name: str
    instruction: str = ""
    shares_history: bool = False
    alias_arn: str = ""
    agent: ImportedAgent | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedAgent:
    """An agent of Bedrock Agents at one immutable version.

    Attributes:
        id: Its id.
        name: Its name.
        arn: Its ARN.
        version: A number, or DRAFT for the test alias.
        alias_id: The id of the alias that was read.
        alias_name: The alias's name.
        description: Its description.
        instruction: Its instruction.
        model: The model that it uses.
        prompts: Every step that Bedrock shows, in the order of a turn.
        action_groups: Its action groups, including disabled ones.
        knowledge_bases: Its knowledge bases, including disabled ones.
        guardrail: Its guardrail, None without one.
        memory: Its long-term memory, None without one.
        idle_timeout_s: Idle time after which a session ends, in seconds.
        collaboration: Whether and how it calls collaborators.
        collaborators: Its collaborators.
        orchestration_lambda: The ARN of the Lambda function of a custom orchestration, "" for Bedrock's own.
        role_arn: Its role.
        encryption_key_arn: The KMS key that encrypts it, "" for AWS's own.
        tags: Its tags.
        redactions: Number of secrets that were removed from its texts, by rule.
    """

    id: str
    name: str
    arn: str = ""
    version: str = "DRAFT"
    alias_id: str = ""
    alias_name: str = ""
    description: str = ""
    instruction: str
    model: ModelChoice
    prompts: tuple[PromptStep, ...] = ()
    action_groups: tuple[ActionGroup, ...] = ()
    knowledge_bases: tuple[AgentKnowledgeBase, ...] = ()
    guardrail: AgentGuardrail | None = None
    memory: MemorySettings | None = None
    idle_timeout_s: int = 600
    collaboration: Collaboration = "none"
    collaborators: tuple[Collaborator, ...] = ()
    orchestration_lambda: str = ""
    role_arn: str = ""
    encryption_key_arn: str = ""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    redactions: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def inference(self) -> InferenceParameters:
        """The inference parameters of the orchestration's model calls."""
        step = self.prompt("orchestration")
        return step.inference if step else InferenceParameters()

    @property
    def takes_user_input(self) -> bool:
        """Whether it may ask the user for missing arguments."""
        return self.built_in("user_input") is not None

    @property
    def runs_code(self) -> bool:
        """Whether it has a code interpreter."""
        return self.built_in("code_interpreter") is not None

    @property
    def enabled_action_groups(self) -> tuple[ActionGroup, ...]:
        """The action groups with tools that it may call."""
        return tuple(group for group in self.action_groups if group.is_enabled and group.built_in is None)

    @property
    def enabled_knowledge_bases(self) -> tuple[AgentKnowledgeBase, ...]:
        """The knowledge bases that it may search."""
        return tuple(base for base in self.knowledge_bases if base.is_enabled)

    def prompt(self, name: StepName) -> PromptStep | None:
        """Return a step, or None if Bedrock does not show it.

        Args:
            name: The step.
        """
        return next((step for step in self.prompts if step.name == name), None)

    def built_in(self, name: BuiltIn) -> ActionGroup | None:
        """Return the enabled built-in action group of a kind, or None.

        Args:
            name: The kind of built-in action group.
        """
        return next((group for group in self.action_groups if group.is_enabled and group.built_in == name), None)

    def walk(self) -> Iterator[ImportedAgent]:
        """Yield the agent and its collaborators at every level, callers before the agents that they call."""
        yield self
        for collaborator in self.collaborators:
            if collaborator.agent is not None:
                yield from collaborator.agent.walk()
