import type { Tx } from '../../../platform/database/schema.ts'
import { setDefaultBranch } from '../../../platform/git/refs/refs.ts'
import { type Caller, checkSeesPrivate } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { checkNotArchived, checkNotImporting, openRepository } from '../access/permissions.ts'
import { recordRepositoryChange, wakeWatchers } from '../activity/repository-events.ts'
import { MERGE_STYLES, UPDATE_STYLES } from '../commits/merge-styles.ts'
import type { ReposApp } from '../ports.ts'
import { findBranch } from '../refs/branches.rows.ts'
import { endPendingUpdate, recordPendingUpdateIn } from '../refs/pending-ref-updates.ts'
import { recordUpdates } from '../refs/ref-updates.ts'
import type { IssueAccess, Repository, RepositoryChanges } from '../schema.ts'
import { checkMayBePublic } from './forks.ts'
import { updateMirror } from './mirrors.rows.ts'
import { mirrorChanges } from './mirrors.ts'
import * as rows from './repositories.rows.ts'
import { getRepositoryById, withUniqueName } from './repositories.ts'
import {
  checkBranchName,
  checkRepositoryName,
  checkText,
  invalidDefaultBranch,
  repositoryNameKey,
} from './repository-fields.ts'
import type { RepositoryView } from './repository-views.ts'

/** Boolean settings. */
const SWITCHES = [
  'template',
  'has_issues',
  'has_dependencies',
  'close_issues_in_any_branch',
  'lfs_locks_enforced',
  'has_pull_requests',
  'has_releases',
] as const

/** Boolean settings of pull requests. They do not change while pull requests are disabled. */
const PULL_SWITCHES = [
  'ignore_whitespace_conflicts',
  'allow_merge_commits',
  'allow_rebase',
  'allow_rebase_explicit',
  'allow_squash_merge',
  'allow_fast_forward_only_merge',
  'allow_merge_update',
  'allow_rebase_update',
  'allow_manual_merge',
  'autodetect_manual_merge',
  'default_delete_branch_after_merge',
  'default_allow_maintainer_edit',
  'rebase_stacks',
] as const

type RepositorySwitch = (typeof SWITCHES)[number] | (typeof PULL_SWITCHES)[number]

/**
 * Changes of a repository. Undefined fields do not change. Neither do empty names, branches and
 * styles.
 */
export interface RepositoryEdit {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly website?: string | undefined
  readonly private?: boolean | undefined
  readonly archived?: boolean | undefined
  readonly defaultBranch?: string | undefined
  readonly issueAccess?: string | undefined
  readonly switches: Readonly<Partial<Record<RepositorySwitch, boolean | undefined>>>
  readonly defaultMergeStyle?: string | undefined
  readonly defaultUpdateStyle?: string | undefined
  /** Empty for the default branch. */
  readonly defaultTargetBranch?: string | undefined
  readonly mirrorInterval?: string | undefined
  readonly enablePrune?: boolean | undefined
}

/**
 * Changes a repository. Either all changes are made, or none. An archived repository can only be
 * changed by an edit that also unarchives it.
 */
export async function editRepository(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  edit: RepositoryEdit,
): Promise<RepositoryView> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  checkNotImporting(repository)
  if (edit.archived !== false) checkNotArchived(repository)
  if (edit.private) checkSeesPrivate(caller)
  const newName = edit.name || repository.name
  const defaultBranch = edit.defaultBranch || repository.default_branch
  const movesHead = defaultBranch !== repository.default_branch
  await checkEdit(app, repository, edit)
  const changes = changesOf(edit, repository, nowSeconds(app.clock))
  const mirror = mirrorChanges(app, edit.mirrorInterval, edit.enablePrune)
  const updateId = await withUniqueName(app, newName, async (tx) => {
    const present = await rows.findRepositoryById(tx, repository.id)
    if (!present) throw new DomainError('REPOSITORY_NOT_FOUND')
    if (changes.private === 0 && present.private === 1) await checkMayBePublic(tx, present)
    if (newName !== repository.name) {
      // The current owner, since the repository may be transferred at the same time.
      const to = { owner_id: present.owner_id, name: newName, name_key: repositoryNameKey(newName) }
      await rows.moveRepository(tx, present, to)
    }
    await rows.updateRepository(tx, repository.id, changes)
    if (changes.private === 1) await rows.makeForksPrivate(tx, repository.id)
    if (repository.mirror === 1) await updateMirror(tx, repository.id, mirror)
    await recordEvents(app, tx, caller, { present, newName, changes })
    return movesHead ? recordPendingUpdateIn(app, tx, repository.id) : undefined
  })
  wakeWatchers(app)
  if (repository.mirror === 1) app.signals.mirrors.notify()
  if (updateId !== undefined) {
    try {
      await setDefaultBranch(app.git, repository.id, defaultBranch)
      await recordUpdates(app, repository.id, updateId, [])
    } finally {
      endPendingUpdate(app, updateId)
    }
  }
  return getRepositoryById(app, caller, repository.id)
}

/** A repository before a change of its settings, and the change. */
interface SettingsChange {
  readonly present: Repository
  readonly newName: string
  readonly changes: RepositoryChanges
}

/** Records an event for each kind of change. */
async function recordEvents(
  app: ReposApp,
  tx: Tx,
  caller: Caller,
  { present, newName, changes }: SettingsChange,
): Promise<void> {
  const { update_time: _now, archive_time = present.archive_time, ...settings } = changes
  const isEdited = Object.entries(settings).some(
    ([column, value]) => present[column as keyof typeof settings] !== value,
  )
  const types = [
    isEdited && 'REPOSITORY_EDITED',
    newName !== present.name && 'REPOSITORY_RENAMED',
    archive_time !== null && present.archive_time === null && 'REPOSITORY_ARCHIVED',
    archive_time === null && present.archive_time !== null && 'REPOSITORY_UNARCHIVED',
  ] as const
  for (const type of types)
    if (type) await recordRepositoryChange(app, tx, caller, present.id, type)
}

async function checkEdit(
  app: ReposApp,
  repository: Repository,
  edit: RepositoryEdit,
): Promise<void> {
  if (edit.name && edit.name !== repository.name) checkRepositoryName(edit.name)
  checkText('description', edit.description)
  checkText('website', edit.website)
  const { defaultBranch, defaultTargetBranch } = edit
  if (defaultBranch && defaultBranch !== repository.default_branch)
    await checkCanBeDefault(app, repository, defaultBranch)
  if (defaultTargetBranch && !(await findBranch(app.db, repository.id, defaultTargetBranch))) {
    throw new DomainError('INVALID_FIELD', { field: 'default_target_branch' })
  }
}

/** Checks that a branch exists or, in an empty repository, that its name is valid. */
async function checkCanBeDefault(
  app: ReposApp,
  { id, branch_count }: Repository,
  branch: string,
): Promise<void> {
  if (branch_count === 0) checkBranchName(branch)
  else if (!(await findBranch(app.db, id, branch))) throw invalidDefaultBranch(branch)
}

function readStyle<Style extends string>(
  field: string,
  text: string | undefined,
  styles: readonly Style[],
): Style | undefined {
  if (!text) return undefined
  const style = styles.find((known) => known === text)
  if (!style) throw new DomainError('INVALID_MERGE_STYLE', { field, style: text.slice(0, 100) })
  return style
}

const ISSUE_ACCESS: readonly IssueAccess[] = ['everyone', 'contributors', 'collaborators']

function readIssueAccess(text: string | undefined): IssueAccess | undefined {
  if (!text) return undefined
  const access = ISSUE_ACCESS.find((known) => known === text)
  if (!access) throw new DomainError('INVALID_FIELD', { field: 'issue_access' })
  return access
}

function changesOf(edit: RepositoryEdit, repository: Repository, now: number): RepositoryChanges {
  const changes: RepositoryChanges = { update_time: now }
  if (edit.description !== undefined) changes.description = edit.description
  if (edit.website !== undefined) changes.website = edit.website
  if (edit.private !== undefined) changes.private = edit.private ? 1 : 0
  if (edit.archived !== undefined)
    changes.archive_time = edit.archived ? (repository.archive_time ?? now) : null
  const issueAccess = readIssueAccess(edit.issueAccess)
  if (issueAccess) changes.issue_access = issueAccess
  const usesPulls = edit.switches.has_pull_requests ?? repository.has_pull_requests === 1
  for (const name of usesPulls ? [...SWITCHES, ...PULL_SWITCHES] : SWITCHES) {
    const on = edit.switches[name]
    if (on !== undefined) changes[name] = on ? 1 : 0
  }
  const pullDefaults = pullDefaultsOf(edit)
  return usesPulls ? { ...changes, ...pullDefaults } : changes
}

function pullDefaultsOf(edit: RepositoryEdit): RepositoryChanges {
  const changes: RepositoryChanges = {}
  const mergeStyle = readStyle('default_merge_style', edit.defaultMergeStyle, MERGE_STYLES)
  const updateStyle = readStyle('default_update_style', edit.defaultUpdateStyle, UPDATE_STYLES)
  if (mergeStyle) changes.default_merge_style = mergeStyle
  if (updateStyle) changes.default_update_style = updateStyle
  if (edit.defaultTargetBranch !== undefined)
    changes.default_target_branch = edit.defaultTargetBranch
  return changes
}
