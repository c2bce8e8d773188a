"""py-gitea: ada administers the server, bob owns what she creates for him."""

import base64

from calls import TOKENS, URL, call
from gitea import Gitea, Organization, Repository, Team, User
from gitea.apiobject import RepoUnits

ada = Gitea(URL, TOKENS["ada"])
found = {}


def remember(name, value):
    found[name] = value
    return value


def base64_of(text):
    return base64.b64encode(text.encode()).decode()


call("Gitea.get_version", True, lambda: ada.get_version().startswith("1."))
call("Gitea.get_user", "ada", lambda: ada.get_user().username)
call("Gitea.get_user_by_name", "bob", lambda: remember("bob", ada.get_user_by_name("bob")).username)
call("User.request", "bob@example.org", lambda: User.request(ada, "bob").email)
call("Gitea.get_users", ["ada", "bob", "carol"], lambda: sorted(u.username for u in ada.get_users()))
call(
    "Gitea.get_user_by_email",
    "carol",
    lambda: remember("carol", ada.get_user_by_email("carol@example.org")).username,
)
call(
    "Gitea.create_user",
    "dan",
    lambda: remember(
        "dan",
        ada.create_user(
            "dan", "dan@example.org", "correct horse battery", change_pw=False, send_notify=False
        ),
    ).username,
)
call("Gitea.create_org", "acme", lambda: remember("acme", ada.create_org(ada.get_user(), "acme", "Acme")).username)
call("Gitea.get_orgs", ["acme"], lambda: [o.username for o in ada.get_orgs()])
if "acme" not in found:
    # Without the call above, so that the calls below still say something.
    ada.requests_post("/orgs", {"username": "acme"})
call("Organization.request", "acme", lambda: remember("acme", Organization.request(ada, "acme")).username)


def edit_organization():
    found["acme"].description = "Brakes"
    found["acme"].commit()
    return Organization.request(ada, "acme").description


call("Organization.commit", "Brakes", edit_organization)
call(
    "Organization.create_repo",
    "acme/engine",
    lambda: found["acme"].create_repo("engine", autoInit=True, default_branch="main").get_full_name(),
)
call(
    "Repository.request",
    "acme/engine",
    lambda: remember("engine", Repository.request(ada, "acme", "engine")).get_full_name(),
)
call("Organization.get_repositories", ["engine"], lambda: [r.name for r in found["acme"].get_repositories()])
call("Organization.get_repository", "engine", lambda: found["acme"].get_repository("engine").name)
call(
    "Gitea.create_team",
    "brakes",
    lambda: remember(
        "brakes",
        ada.create_team(
            found["acme"],
            "brakes",
            permission="write",
            units_map=RepoUnits(code="write", pulls="write"),
        ),
    ).name,
)
call("Organization.get_teams", ["Owners", "brakes"], lambda: sorted(t.name for t in found["acme"].get_teams()))
call("Team.request", "brakes", lambda: Team.request(ada, found["brakes"].id).name)


def add_to_team():
    found["brakes"].add_user(found["bob"])
    return [u.username for u in found["brakes"].get_members()]


def add_repository_to_team():
    found["brakes"].add_repo("acme", found["engine"])
    return [r.name for r in found["brakes"].get_repos()]


call("Team.add_user", ["bob"], add_to_team)
call("Team.add_repo", ["engine"], add_repository_to_team)
call("Organization.is_member", True, lambda: found["acme"].is_member("bob"))
call("Organization.get_members", ["ada", "bob"], lambda: sorted(u.username for u in found["acme"].get_members()))
call("User.get_orgs", ["acme"], lambda: [o.username for o in found["bob"].get_orgs()])
call("User.create_repo", "ada/notes", lambda: ada.get_user().create_repo("notes", autoInit=True).get_full_name())
call("Gitea.create_repo", "bob/notes", lambda: ada.create_repo(found["bob"], "notes", autoInit=True).get_full_name())
call("User.get_repositories", ["notes"], lambda: [r.name for r in ada.get_user().get_repositories()])
call("User.get_accessible_repos", 1, lambda: min(1, len(found["bob"].get_accessible_repos())))
call("User.get_teams", ["brakes"], lambda: [t.name for t in found["bob"].get_teams()])
call("User.emails", 1, lambda: len(ada.get_user().emails))


def edit_user():
    found["dan"].full_name = "Dan"
    found["dan"].commit(login_name="dan")
    return User.request(ada, "dan").full_name


def edit_repository():
    found["engine"].description = "Fast"
    found["engine"].commit()
    return Repository.request(ada, "acme", "engine").description


call("User.commit", "Dan", edit_user)
call("Repository.commit", "Fast", edit_repository)
call("Repository.get_branches", ["main"], lambda: [b.name for b in found["engine"].get_branches()])
call(
    "Repository.add_branch",
    "feature",
    lambda: found["engine"].add_branch(found["engine"].get_branches()[0], "feature").name,
)
call(
    "Repository.create_file",
    "a.txt",
    lambda: found["engine"].create_file("a.txt", base64_of("a\n"))["content"]["path"],
)


def content_of(path):
    return [c for c in found["engine"].get_git_content() if c.path == path][0]


call("Repository.get_git_content", ["README.md", "a.txt"], lambda: sorted(c.path for c in found["engine"].get_git_content()))
call("Repository.get_file_content", base64_of("a\n"), lambda: found["engine"].get_file_content(content_of("a.txt")))
call(
    "Repository.change_file",
    None,
    lambda: found["engine"].change_file("a.txt", content_of("a.txt").sha, base64_of("b\n")),
)
call("Repository.delete_file", None, lambda: found["engine"].delete_file("a.txt", content_of("a.txt").sha))
call("Repository.get_commits", 4, lambda: len(found["engine"].get_commits()))


def topics():
    found["engine"].add_topic("steam")
    return found["engine"].get_topics()


def without_topic():
    found["engine"].del_topic("steam")
    return found["engine"].get_topics()


call("Repository.add_topic", ["steam"], topics)
call("Repository.del_topic", [], without_topic)
call("Repository.create_milestone", "v1", lambda: found["engine"].create_milestone("v1", "First").title)
call(
    "Repository.create_gitea_hook",
    ["push"],
    lambda: remember("hook", found["engine"].create_gitea_hook("http://127.0.0.1:9/hook", ["push"]))["events"],
)
call("Repository.list_hooks", 1, lambda: len(found["engine"].list_hooks()))
call("Repository.delete_hook", None, lambda: found["engine"].delete_hook(found["hook"]["id"]))
call("Repository.is_collaborator", False, lambda: found["engine"].is_collaborator("carol"))
call("Repository.get_user_permission", "write", lambda: found["engine"].get_user_permission("bob").permission)
call("Repository.get_users_with_access", ["acme"], lambda: [u.username for u in found["engine"].get_users_with_access()])


def transfer():
    Repository.request(ada, "ada", "notes").transfer_ownership(found["acme"])
    return Repository.request(ada, "acme", "notes").get_full_name()


def delete_user():
    found["dan"].delete()
    return [u["login"] for u in ada.requests_get("/users/search", {"q": "dan"})["data"]]


call("Repository.transfer_ownership", "acme/notes", transfer)
call("Repository.delete", None, lambda: Repository.request(ada, "acme", "notes").delete())
call("Organization.remove_member", None, lambda: found["acme"].remove_member(found["bob"]))
call("Team.delete", None, lambda: found["brakes"].delete())
call("User.delete", [], delete_user)
