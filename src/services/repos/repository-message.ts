import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  type Repository as RepositoryMessage,
  RepositorySchema,
} from '#gen/branchline/v1/repository_pb.ts'
import type { App } from '../../domain/app.ts'
import type { Caller } from '../../domain/core/access.ts'
import { suffices } from '../../domain/core/levels.ts'
import { formatInterval } from '../../domain/repos/lifecycle/mirror-intervals.ts'
import type { RepositoryView } from '../../domain/repos/listing/repository-views.ts'
import { accountMessage, NEVER } from '../accounts/accounts.ts'
import { atSecond } from '../wire/times.ts'

type Fields = Exclude<MessageInitShape<typeof RepositorySchema>, RepositoryMessage>

/** Returns the message of a repository. */
export function repositoryMessage(
  app: App,
  viewer: Caller,
  view: RepositoryView,
): RepositoryMessage {
  return create(RepositorySchema, {
    ...identityOf(app, viewer, view),
    ...urlsOf(app, view),
    ...stateOf(view),
    ...figuresOf(view),
    ...mirrorOf(view),
    ...pullSettingsOf(view),
    ...(view.parent && { parent: repositoryMessage(app, viewer, view.parent) }),
    ...(view.transfer && { repoTransfer: transferOf(app, viewer, view.transfer) }),
  })
}

function identityOf(
  app: App,
  viewer: Caller,
  { repository, owner, units: { code } }: RepositoryView,
): Fields {
  return {
    id: BigInt(repository.id),
    owner: accountMessage(app, viewer, owner),
    name: repository.name,
    fullName: `${owner.name}/${repository.name}`,
    description: repository.description,
    website: repository.website,
    originalUrl: repository.original_url,
    permissions: {
      admin: suffices(code, 'admin'),
      push: suffices(code, 'write'),
      pull: suffices(code, 'read'),
    },
  }
}

function urlsOf(app: App, { repository, owner }: RepositoryView): Fields {
  const base = app.publicUrl()
  const path = `${owner.name}/${repository.name}`
  const url = `${base}/api/v1/repos/${path}`
  return {
    url,
    languagesUrl: `${url}/languages`,
    htmlUrl: `${base}/${path}`,
    cloneUrl: `${base}/${path}.git`,
  }
}

function stateOf({ repository, owner, topics }: RepositoryView): Fields {
  return {
    empty: repository.branch_count === 0,
    private: repository.private === 1,
    internal: repository.private === 0 && owner.visibility === 'private',
    archived: repository.archive_time !== null,
    fork: repository.parent_id !== null,
    template: repository.template === 1,
    createdAt: atSecond(repository.create_time),
    updatedAt: atSecond(repository.update_time),
    archivedAt: atSecond(repository.archive_time ?? 0),
    defaultBranch: repository.default_branch,
    objectFormatName: 'sha1',
    hasCode: true,
    // Always false, because some clients fail if they request issues and the path does not exist.
    // The setting is stored for a later version with issues.
    hasIssues: false,
    hasPullRequests: repository.has_pull_requests === 1,
    hasReleases: repository.has_releases === 1,
    projectsMode: 'all',
    topics: [...topics],
  }
}

function figuresOf({ repository }: RepositoryView): Fields {
  return {
    size: BigInt(repository.size_kib),
    branchCount: BigInt(repository.branch_count),
    forksCount: BigInt(repository.forks_count),
    openPrCounter: BigInt(repository.open_pulls_count),
    releaseCounter: BigInt(repository.releases_count),
  }
}

function mirrorOf({ mirror }: RepositoryView): Fields {
  if (!mirror) return { mirrorUpdated: NEVER, mirrorLastSyncAt: NEVER }
  return {
    mirror: true,
    mirrorInterval: formatInterval(mirror.interval_seconds),
    mirrorUpdated: mirror.change_time === null ? NEVER : atSecond(mirror.change_time),
    mirrorLastSyncAt: mirror.last_sync_time === null ? NEVER : atSecond(mirror.last_sync_time),
  }
}

function pullSettingsOf({ repository }: RepositoryView): Fields {
  // The values that compatible systems send if pull requests are disabled.
  if (repository.has_pull_requests === 0) {
    return { allowManualMerge: true, defaultMergeStyle: 'merge', defaultUpdateStyle: 'merge' }
  }
  return {
    ignoreWhitespaceConflicts: repository.ignore_whitespace_conflicts === 1,
    allowMergeCommits: repository.allow_merge_commits === 1,
    allowRebase: repository.allow_rebase === 1,
    allowRebaseExplicit: repository.allow_rebase_explicit === 1,
    allowSquashMerge: repository.allow_squash_merge === 1,
    allowFastForwardOnlyMerge: repository.allow_fast_forward_only_merge === 1,
    allowMergeUpdate: repository.allow_merge_update === 1,
    allowRebaseUpdate: repository.allow_rebase_update === 1,
    allowManualMerge: repository.allow_manual_merge === 1,
    autodetectManualMerge: repository.autodetect_manual_merge === 1,
    defaultDeleteBranchAfterMerge: repository.default_delete_branch_after_merge === 1,
    defaultAllowMaintainerEdit: repository.default_allow_maintainer_edit === 1,
    defaultMergeStyle: repository.default_merge_style,
    defaultUpdateStyle: repository.default_update_style,
    defaultTargetBranch: repository.default_target_branch,
  }
}

function transferOf(
  app: App,
  viewer: Caller,
  { doer, recipient }: NonNullable<RepositoryView['transfer']>,
) {
  return {
    doer: accountMessage(app, viewer, doer),
    recipient: accountMessage(app, viewer, recipient),
  }
}
