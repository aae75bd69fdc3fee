"""The parts of a deployment that create an agent's image: a repository, a build project, and the image."""

from __future__ import annotations

from dataclasses import replace

from ...aws import Clients
from ...aws.buckets import delete_object, has_bucket, has_object
from ...aws.deploy import code_bucket
from ...aws.image_builds import (
    BuildProject,
    ImageRepository,
    create_repository,
    delete_image,
    delete_project,
    delete_repository,
    find_project,
    find_repository,
    image_digest,
    put_project,
    run_build,
    upload_source,
)
from ...aws.runtime_requests import SettingChange
from ...errors import AwsError, DeployError
from ...presentation.formats import size
from ..journal import DeployJournal, Intent
from ..names import AGENT_TAG, agent_tags
from ..parts.part import DeployPart, Report
from ..parts.service_role import ServiceRolePart
from ..policies import AwsPlace
from ..spec import AgentSpec
from ..steps import PlanStep
from .dockerfile import BUILDSPEC
from .names import build_policy, build_role_name, build_trust, project_name, repository_name, source_key
from .source import ImageSource


class ImageParts:
    """The parts that create an agent's image.

    Args:
        clients: The AWS clients of a connection.
        spec: The agent's configuration.
        source: The source of the image.
    """

    def __init__(self, clients: Clients, spec: AgentSpec, source: ImageSource) -> None:
        place = AwsPlace(account=clients.account_id(), region=clients.region)
        self._clients, self._source = clients, source
        self._name = repository_name(spec.name)
        self._registry = f"{place.account}.dkr.ecr.{place.region}.amazonaws.com"
        self.repository_arn = place.arn("ecr", f"repository/{self._name}")
        bucket = code_bucket(clients)
        role = ServiceRolePart(
            clients,
            spec,
            "role of builds",
            build_role_name(spec.name, place.region),
            trust=build_trust(spec.name, place),
            policy=build_policy(spec.name, bucket, place),
        )
        project = BuildProject(
            name=project_name(spec.name),
            role_arn=role.arn,
            source=f"{bucket}/{source_key(spec.name, source.tag)}",
            buildspec=BUILDSPEC,
            variables={"REGISTRY": self._registry, "REPOSITORY_URI": self._repository_uri()},
            tags=agent_tags(spec),
        )
        image = ImagePart(clients, spec, source, repository=self._name, project=project)
        self.parts: tuple[DeployPart, ...] = (RepositoryPart(clients, spec), role, ProjectPart(clients, project), image)

    def uri(self) -> str:
        """Return the URI of the image: by its digest, or by its tag before it is built."""
        digest = image_digest(self._clients, self._name, self._source.tag)
        uri = self._repository_uri()
        return f"{uri}@{digest}" if digest else f"{uri}:{self._source.tag}"

    def _repository_uri(self) -> str:
        return f"{self._registry}/{self._name}"


def part_of_image(clients: Clients, spec: AgentSpec, kind: str) -> DeployPart | None:
    """Return the part of a kind, to undo an interrupted deployment; None if images do not have such a part.

    Args:
        clients: The AWS clients of a connection.
        spec: The agent's configuration.
        kind: The part's kind.
    """
    nothing = ImageSource(data=b"", dockerfile="", is_own=False, entry_point="")
    parts = ImageParts(clients, spec, nothing).parts
    return next((part for part in parts if part.kind == kind), None)


class RepositoryPart:
    """The repository of an agent's images."""

    kind = "repository"

    def __init__(self, clients: Clients, spec: AgentSpec) -> None:
        self._clients, self._spec, self._name = clients, spec, repository_name(spec.name)

    def look(self) -> PlanStep:
        """Check whether the repository exists."""
        return PlanStep(kind=self.kind, name=self._name, action="keep" if self._own() else "create")

    def carry_out(self, step: PlanStep, journal: DeployJournal, report: Report) -> None:
        """Create the repository."""
        report("creating the repository for images")
        journal.add(Intent(kind=self.kind, name=self._name, action="create"))
        create_repository(self._clients, self._name, agent_tags(self._spec))

    def undo(self, intent: Intent, report: Report) -> str:
        """Delete the repository with its images, if Loom created it."""
        repository = find_repository(self._clients, intent.name)
        if repository is None:
            return ""
        if repository.tags.get(AGENT_TAG) != self._spec.name:
            return f"kept the repository {intent.name}, which Loom did not create"
        report("deleting the repository")
        delete_repository(self._clients, intent.name)
        return f"deleted the repository {intent.name}"

    def _own(self) -> ImageRepository | None:
        repository = find_repository(self._clients, self._name)
        if repository is not None and repository.tags.get(AGENT_TAG) != self._spec.name:
            raise DeployError(
                "The account has a repository with the agent's name that Loom did not create",
                on=self._name,
                try_="deploy the agent under another name",
            )
        return repository


class ProjectPart:
    """The project that builds an agent's images."""

    kind = "project"

    def __init__(self, clients: Clients, project: BuildProject) -> None:
        self._clients, self._project = clients, project

    def look(self) -> PlanStep:
        """Compare the project's role, commands and variables; each build sets its own source."""
        project = self._own()
        if project is None:
            return PlanStep(kind=self.kind, name=self._project.name, action="create")
        changes = tuple(
            SettingChange(setting=setting, before=before, after=after)
            for setting, before, after in (
                ("role", project.role_arn, self._project.role_arn),
                ("buildspec", project.buildspec, self._project.buildspec),
                ("variables", _names(project), _names(self._project)),
            )
            if before != after
        )
        action = "change" if changes or project.variables != self._project.variables else "keep"
        return PlanStep(kind=self.kind, name=self._project.name, action=action, changes=changes)

    def carry_out(self, step: PlanStep, journal: DeployJournal, report: Report) -> None:
        """Create or change the project."""
        report("preparing the build")
        project = self._own()
        before = {} if project is None else {"role": project.role_arn, "buildspec": project.buildspec}
        if project is not None:
            before |= {"source": project.source, "variables": dict(project.variables), "tags": dict(project.tags)}
        action = "create" if project is None else "change"
        journal.add(Intent(kind=self.kind, name=self._project.name, action=action, before=before))
        put_project(self._clients, self._project, is_new=project is None)

    def undo(self, intent: Intent, report: Report) -> str:
        """Delete the project, or restore its previous settings."""
        project = find_project(self._clients, intent.name)
        if project is None:
            return ""
        if project.tags.get(AGENT_TAG) != self._project.tags.get(AGENT_TAG):
            return f"kept the project {intent.name}, which Loom did not create"
        if intent.action == "create":
            report("deleting the project of builds")
            delete_project(self._clients, intent.name)
            return f"deleted the project {intent.name}"
        before = intent.before
        restored = replace(
            project,
            role_arn=before["role"],
            buildspec=before["buildspec"],
            source=before["source"],
            variables=before["variables"],
            tags=before["tags"],
        )
        put_project(self._clients, restored, is_new=False)
        return f"restored the project {intent.name}"

    def _own(self) -> BuildProject | None:
        project = find_project(self._clients, self._project.name)
        if project is not None and project.tags.get(AGENT_TAG) != self._project.tags.get(AGENT_TAG):
            raise DeployError(
                "The account has a project with the agent's name that Loom did not create",
                on=self._project.name,
                try_="deploy the agent under another name",
            )
        return project


class ImagePart:
    """The image, built from its source by CodeBuild; its tag is the source's digest."""

    kind = "image"

    def __init__(
        self, clients: Clients, spec: AgentSpec, source: ImageSource, *, repository: str, project: BuildProject
    ) -> None:
        self._clients, self._source, self._repository, self._project = clients, source, repository, project
        self._bucket, self._key = code_bucket(clients), source_key(spec.name, source.tag)

    def look(self) -> PlanStep:
        """Check whether the image of this source exists."""
        is_there = bool(image_digest(self._clients, self._repository, self._source.tag))
        whose = "your own Dockerfile" if self._source.is_own else "a Dockerfile generated by Loom"
        return PlanStep(
            kind=self.kind,
            name=f"{self._repository}:{self._source.tag}",
            action="keep" if is_there else "create",
            note=f"{whose}, for Linux on ARM64; source of {size(len(self._source.data))}",
        )

    def carry_out(self, step: PlanStep, journal: DeployJournal, report: Report) -> None:
        """Upload the source, build the image and push it."""
        journal.add(Intent(kind=self.kind, name=step.name, action="create"))
        report("uploading the image's source")
        upload_source(self._clients, self._bucket, self._key, self._source.data)
        try:
            run_build(
                self._clients,
                self._project.name,
                source=f"{self._bucket}/{self._key}",
                variables={"IMAGE_TAG": self._source.tag},
                report=report,
            )
        except AwsError:
            # A build that a killed process has started may have pushed the image in the meantime; its tag is immutable.
            if not image_digest(self._clients, self._repository, self._source.tag):
                raise
        if not image_digest(self._clients, self._repository, self._source.tag):
            raise DeployError(
                "The build succeeded but did not push an image", on=step.name, try_="see the build's log in CodeBuild"
            )

    def undo(self, intent: Intent, report: Report) -> str:
        """Delete the image and its source."""
        repository, _, tag = intent.name.rpartition(":")
        folder = self._key.rpartition("/")[0]
        key = f"{folder}/{tag}.zip"
        if has_bucket(self._clients, self._bucket) and has_object(self._clients, self._bucket, key):
            delete_object(self._clients, self._bucket, key)
        if not image_digest(self._clients, repository, tag):
            return ""
        report("deleting the image")
        delete_image(self._clients, repository, tag)
        return f"deleted the image {intent.name}"


def _names(project: BuildProject) -> str:
    return ", ".join(sorted(project.variables))
