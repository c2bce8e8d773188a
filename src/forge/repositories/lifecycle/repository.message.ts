import { create } from '@bufbuild/protobuf'
import {
  InternalTrackerSchema,
  type Repository as RepositoryMessage,
} from '#gen/branchline/v1/repository_pb.ts'
import {
  type AccountMessages,
  accountMessages,
  NEVER,
} from '../../accounts/users/accounts.message.ts'
import type { App } from '../../app.ts'
import type { Caller } from '../../core/access.ts'
import { suffices } from '../../core/levels.ts'
import { atSecond } from '../../core/wire/times.ts'
import { formatInterval } from './mirrors.ts'
import type { RepositoryView } from './repository-views.ts'

/** Returns the message of a repository. */
export function repositoryMessage(
  app: App,
  viewer: Caller,
  view: RepositoryView,
): RepositoryMessage {
  return repositoryMessageWith(app, view, accountMessages(app, viewer))
}

/** Returns the messages of repositories. */
export function repositoryMessages(
  app: App,
  viewer: Caller,
  views: readonly RepositoryView[],
): RepositoryMessage[] {
  const ofAccount = accountMessages(app, viewer)
  return views.map((view) => repositoryMessageWith(app, view, ofAccount))
}

/**
 * Returns the message of a repository for one response.
 *
 * @param ofAccount the accounts of the response.
 */
export function repositoryMessageWith(
  app: App,
  view: RepositoryView,
  ofAccount: AccountMessages,
): RepositoryMessage {
  // A copy of an object that has all fields, whose fields are then set one by one. `create`, and
  // an object that consists of several others, would take twenty times as long.
  const message = { ...EMPTY, topics: [...view.topics], licenses: [] }
  setIdentity(message, view, ofAccount)
  setUrls(message, app, view)
  setState(message, view)
  setFigures(message, view)
  setMirror(message, view)
  setPullSettings(message, view)
  if (view.parent) message.parent = repositoryMessageWith(app, view.parent, ofAccount)
  if (view.transfer) {
    const { doer, recipient } = view.transfer
    message.repoTransfer = {
      $typeName: 'branchline.v1.RepositoryTransfer',
      doer: ofAccount(doer),
      recipient: ofAccount(recipient),
      teams: [],
    }
  }
  return message
}

/** The issues of a repository, in which they may wait for others, or may not. */
const TRACKER = trackerWith(true)
const TRACKER_WITHOUT_DEPENDENCIES = trackerWith(false)

function trackerWith(enableIssueDependencies: boolean) {
  return create(InternalTrackerSchema, {
    enableTimeTracker: false,
    allowOnlyContributorsToTrackTime: true,
    enableIssueDependencies,
  })
}

const EMPTY: RepositoryMessage = {
  $typeName: 'branchline.v1.Repository',
  id: 0n,
  owner: undefined,
  name: '',
  fullName: '',
  description: '',
  website: '',
  empty: false,
  importing: false,
  private: false,
  archived: false,
  defaultBranch: '',
  branchCount: 0n,
  createdAt: undefined,
  updatedAt: undefined,
  archivedAt: undefined,
  permissions: undefined,
  url: '',
  htmlUrl: '',
  cloneUrl: '',
  objectFormatName: 'sha1',
  internal: false,
  fork: false,
  parent: undefined,
  template: false,
  mirror: false,
  mirrorInterval: '',
  mirrorUpdated: NEVER,
  mirrorLastSyncAt: NEVER,
  originalUrl: '',
  size: 0n,
  languagesUrl: '',
  language: '',
  link: '',
  sshUrl: '',
  avatarUrl: '',
  starsCount: 0n,
  watchersCount: 0n,
  forksCount: 0n,
  openIssuesCount: 0n,
  openPrCounter: 0n,
  releaseCounter: 0n,
  defaultTargetBranch: '',
  hasCode: true,
  hasIssues: false,
  closeIssuesViaCommitInAnyBranch: false,
  lfsLocksEnforced: true,
  issueAccess: 'everyone',
  hasPullRequests: false,
  hasReleases: false,
  hasWiki: false,
  hasProjects: false,
  hasPackages: false,
  hasActions: false,
  projectsMode: 'all',
  ignoreWhitespaceConflicts: false,
  allowMergeCommits: false,
  allowRebase: false,
  allowRebaseExplicit: false,
  allowSquashMerge: false,
  allowFastForwardOnlyMerge: false,
  allowMergeUpdate: false,
  allowRebaseUpdate: false,
  allowManualMerge: false,
  autodetectManualMerge: false,
  defaultDeleteBranchAfterMerge: false,
  defaultAllowMaintainerEdit: false,
  rebaseStacks: false,
  defaultMergeStyle: '',
  defaultUpdateStyle: '',
  repoTransfer: undefined,
  topics: [],
  licenses: [],
  lfsSize: 0n,
  assetSize: 0n,
  ownedSize: 0n,
}

function inKib(bytes: number): bigint {
  return BigInt(Math.ceil(bytes / 1024))
}

function setIdentity(
  message: RepositoryMessage,
  { repository, owner, units: { code } }: RepositoryView,
  ofAccount: AccountMessages,
): void {
  message.id = BigInt(repository.id)
  message.owner = ofAccount(owner)
  message.name = repository.name
  message.fullName = `${owner.name}/${repository.name}`
  message.description = repository.description
  message.website = repository.website
  message.originalUrl = repository.original_url
  message.permissions = {
    $typeName: 'branchline.v1.RepositoryPermissions',
    admin: suffices(code, 'admin'),
    push: suffices(code, 'write'),
    pull: suffices(code, 'read'),
  }
}

function setUrls(message: RepositoryMessage, app: App, { repository, owner }: RepositoryView) {
  const base = app.publicUrl()
  const path = `${owner.name}/${repository.name}`
  const url = `${base}/api/v1/repos/${path}`
  message.url = url
  message.sshUrl = app.ssh.urlOf(path)
  message.languagesUrl = `${url}/languages`
  message.htmlUrl = `${base}/${path}`
  message.cloneUrl = `${base}/${path}.git`
}

function setState(message: RepositoryMessage, { repository, owner }: RepositoryView): void {
  message.empty = repository.branch_count === 0
  message.private = repository.private === 1
  message.internal = repository.private === 0 && owner.visibility === 'private'
  message.archived = repository.archive_time !== null
  message.importing = repository.importing === 1
  message.fork = repository.parent_id !== null
  message.template = repository.template === 1
  message.createdAt = atSecond(repository.create_time)
  message.updatedAt = atSecond(repository.update_time)
  message.archivedAt = atSecond(repository.archive_time ?? 0)
  message.defaultBranch = repository.default_branch
  message.hasIssues = repository.has_issues === 1
  if (message.hasIssues)
    message.internalTracker =
      repository.has_dependencies === 1 ? TRACKER : TRACKER_WITHOUT_DEPENDENCIES
  message.closeIssuesViaCommitInAnyBranch = repository.close_issues_in_any_branch === 1
  message.lfsLocksEnforced = repository.lfs_locks_enforced === 1
  message.issueAccess = repository.issue_access
  message.hasPullRequests = repository.has_pull_requests === 1
  message.hasReleases = repository.has_releases === 1
}

function setFigures(message: RepositoryMessage, { repository }: RepositoryView): void {
  message.size = BigInt(repository.size_kib)
  message.lfsSize = inKib(repository.lfs_bytes)
  message.assetSize = inKib(repository.release_bytes + repository.attachment_bytes)
  message.ownedSize = inKib(repository.owned_bytes)
  message.branchCount = BigInt(repository.branch_count)
  message.starsCount = BigInt(repository.stars_count)
  message.forksCount = BigInt(repository.forks_count)
  message.watchersCount = BigInt(repository.watchers_count)
  message.openIssuesCount = BigInt(repository.open_issues_count)
  message.openPrCounter = BigInt(repository.open_pulls_count)
  message.releaseCounter = BigInt(repository.releases_count)
}

function setMirror(message: RepositoryMessage, { mirror }: RepositoryView): void {
  if (!mirror) return
  message.mirror = true
  message.mirrorInterval = formatInterval(mirror.interval_seconds)
  if (mirror.change_time !== null) message.mirrorUpdated = atSecond(mirror.change_time)
  if (mirror.last_sync_time !== null) message.mirrorLastSyncAt = atSecond(mirror.last_sync_time)
}

function setPullSettings(message: RepositoryMessage, { repository }: RepositoryView): void {
  // The values that compatible systems send if pull requests are disabled.
  if (repository.has_pull_requests === 0) {
    message.allowManualMerge = true
    message.defaultMergeStyle = 'merge'
    message.defaultUpdateStyle = 'merge'
    return
  }
  message.ignoreWhitespaceConflicts = repository.ignore_whitespace_conflicts === 1
  message.allowMergeCommits = repository.allow_merge_commits === 1
  message.allowRebase = repository.allow_rebase === 1
  message.allowRebaseExplicit = repository.allow_rebase_explicit === 1
  message.allowSquashMerge = repository.allow_squash_merge === 1
  message.allowFastForwardOnlyMerge = repository.allow_fast_forward_only_merge === 1
  message.allowMergeUpdate = repository.allow_merge_update === 1
  message.allowRebaseUpdate = repository.allow_rebase_update === 1
  message.allowManualMerge = repository.allow_manual_merge === 1
  message.autodetectManualMerge = repository.autodetect_manual_merge === 1
  message.defaultDeleteBranchAfterMerge = repository.default_delete_branch_after_merge === 1
  message.defaultAllowMaintainerEdit = repository.default_allow_maintainer_edit === 1
  message.rebaseStacks = repository.rebase_stacks === 1
  message.defaultMergeStyle = repository.default_merge_style
  message.defaultUpdateStyle = repository.default_update_style
  message.defaultTargetBranch = repository.default_target_branch
}

/** Builds the URLs of a repository's content. */
interface GitUrls {
  /** For REST. */
  readonly api: (path: string) => string
  /** For browsers. */
  readonly html: (path: string) => string
}

/** Returns the URL builders of a repository. Paths begin with a slash and are already encoded. */
export function gitUrls(
  app: App,
  {
    owner,
    repository,
  }: { readonly owner: { readonly name: string }; readonly repository: { readonly name: string } },
): GitUrls {
  const base = app.publicUrl()
  const name = `${owner.name}/${repository.name}`
  return {
    api: (path) => `${base}/api/v1/repos/${name}${path}`,
    html: (path) => `${base}/${name}${path}`,
  }
}

/** Encodes a path or ref for a URL path. Slashes stay. */
export function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}
