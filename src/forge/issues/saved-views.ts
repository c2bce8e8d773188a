import { transaction } from '../../platform/database/database.ts'
import type { Owner } from '../accounts/schema.ts'
import { findOwnersByIds } from '../accounts/users/owners.rows.ts'
import { GHOST } from '../accounts/users/owners.ts'
import { checkLength } from '../accounts/users/user-fields.ts'
import { readableKinds } from '../conversations/conversation-readers.ts'
import { openForPlanning } from '../conversations/planning-access.ts'
import type { Caller, SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import type { RepositoryName } from '../core/names.ts'
import { openRepositories } from '../repositories/access/permissions.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { parseQuery } from './query/parse.ts'
import type { StoredView, ViewOwner } from './query/schema.ts'
import * as rows from './saved-views.rows.ts'

/** The largest number of views of a repository or an account. */
const MAX_VIEWS = 100
const MAX_NAME_CHARACTERS = 255

/** A saved view with the account that created it. */
export interface SavedView {
  readonly view: StoredView
  readonly creator: Owner
}

interface ViewDraft {
  readonly name: string
  readonly query: string
  /** From 1. A position beyond the last one means the last, and so does 0. */
  readonly position: number
}

/** Fields of a view. Undefined fields, and an empty name, keep the value. */
interface ViewEdit {
  readonly name?: string | undefined
  readonly query?: string | undefined
  readonly position?: number | undefined
}

/**
 * Opens the views of a repository.
 *
 * @throws as `openForPlanning`
 */
export async function openSharedViews(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  needed: 'read' | 'write',
): Promise<ViewOwner> {
  const { repository } = await openForPlanning(app, caller, name, needed)
  return { repository_id: repository.id, user_id: null }
}

/** Returns the owner of the views of the caller. */
export function ownViews({ user }: SignedIn): ViewOwner {
  return { repository_id: null, user_id: user.id }
}

/** Lists views by position. */
export async function listSavedViews(app: ReposApp, owner: ViewOwner): Promise<SavedView[]> {
  return withCreators(app, await rows.listViews(app.db, owner))
}

/** @throws ISSUE_VIEW_NOT_FOUND */
export async function getSavedView(
  app: ReposApp,
  owner: ViewOwner,
  id: number,
): Promise<SavedView> {
  return withCreator(app, ofOwner(await rows.findView(app.db, id), owner))
}

/** @throws INVALID_FIELD, INVALID_ISSUE_QUERY, TOO_MANY_ISSUE_VIEWS */
export async function createSavedView(
  app: ReposApp,
  caller: SignedIn,
  owner: ViewOwner,
  draft: ViewDraft,
): Promise<SavedView> {
  const name = nameOf(draft.name)
  if (name === '') throw new DomainError('INVALID_FIELD', { field: 'name', rule: 'Required' })
  parseQuery(draft.query)
  checkPosition(draft.position, 0)
  const now = nowSeconds(app.clock)
  const made = await transaction(app.db, async (tx) => {
    const others = await rows.listViews(tx, owner)
    if (others.length >= MAX_VIEWS)
      throw new DomainError('TOO_MANY_ISSUE_VIEWS', { limit: String(MAX_VIEWS) })
    const view = await rows.insertView(tx, {
      ...owner,
      creator_id: caller.user.id,
      name,
      query: draft.query,
      position: others.length + 1,
      create_time: now,
      update_time: now,
    })
    await rows.storePositions(tx, placed(others, view, draft.position || others.length + 1))
    return (await rows.findView(tx, view.id)) ?? view
  })
  return withCreator(app, made)
}

/** @throws ISSUE_VIEW_NOT_FOUND, INVALID_FIELD, INVALID_ISSUE_QUERY */
export async function editSavedView(
  app: ReposApp,
  owner: ViewOwner,
  id: number,
  edit: ViewEdit,
): Promise<SavedView> {
  const now = nowSeconds(app.clock)
  const changed = await transaction(app.db, async (tx) => {
    const view = ofOwner(await rows.findView(tx, id), owner)
    const name = nameOf(edit.name ?? '') || view.name
    const query = edit.query ?? view.query
    parseQuery(query)
    if (edit.position !== undefined) {
      checkPosition(edit.position, 1)
      const others = (await rows.listViews(tx, owner)).filter((other) => other.id !== id)
      await rows.storePositions(tx, placed(others, view, edit.position))
    }
    const isNew = name !== view.name || query !== view.query
    const update_time = isNew ? now : view.update_time
    return rows.updateView(tx, id, { name, query, update_time })
  })
  return withCreator(app, changed)
}

/** @throws ISSUE_VIEW_NOT_FOUND */
export async function deleteSavedView(app: ReposApp, owner: ViewOwner, id: number): Promise<void> {
  await transaction(app.db, async (tx) => {
    ofOwner(await rows.findView(tx, id), owner)
    await rows.deleteView(tx, id)
    await rows.storePositions(tx, await rows.listViews(tx, owner))
  })
}

/**
 * Returns the query of a view for a list: one of the caller, or of a repository that the caller may
 * read.
 *
 * @param repositoryId of a list of one repository, which takes no views of others.
 * @throws ISSUE_VIEW_NOT_FOUND
 */
export async function queryOfView(
  app: ReposApp,
  caller: Caller,
  repositoryId: number | undefined,
  id: number,
): Promise<string> {
  const view = await rows.findView(app.db, id)
  const isOwn = view && caller.kind !== 'anonymous' && view.user_id === caller.user.id
  if (isOwn) return view.query
  const isHere = repositoryId === undefined || view?.repository_id === repositoryId
  if (view && isHere && (await readsView(app, caller, view))) return view.query
  throw new DomainError('ISSUE_VIEW_NOT_FOUND')
}

async function readsView(
  app: ReposApp,
  caller: Caller,
  { repository_id }: StoredView,
): Promise<boolean> {
  const repository =
    repository_id === null ? undefined : await findRepositoryById(app.db, repository_id)
  if (!repository) return false
  const [open] = await openRepositories(app, caller, [repository], 'issues')
  return open !== undefined && Object.values(readableKinds(open.units)).includes(true)
}

function ofOwner(view: StoredView | undefined, owner: ViewOwner): StoredView {
  if (view?.repository_id !== owner.repository_id || view.user_id !== owner.user_id)
    throw new DomainError('ISSUE_VIEW_NOT_FOUND')
  return view
}

function nameOf(text: string): string {
  const name = text.trim()
  checkLength('name', name, MAX_NAME_CHARACTERS)
  return name
}

function checkPosition(position: number, least: number): void {
  if (position < least) throw new DomainError('INVALID_FIELD', { field: 'position' })
}

/** Returns the views in their new order. */
function placed(others: readonly StoredView[], view: StoredView, position: number): StoredView[] {
  return others.toSpliced(position - 1, 0, view)
}

async function withCreator(app: ReposApp, view: StoredView): Promise<SavedView> {
  const [saved] = await withCreators(app, [view])
  if (!saved) throw new Error('a view has no creator')
  return saved
}

async function withCreators(app: ReposApp, views: readonly StoredView[]): Promise<SavedView[]> {
  const ids = views.flatMap(({ creator_id }) => creator_id ?? [])
  const owners = await findOwnersByIds(app.db, [...new Set(ids)])
  return views.map((view) => ({ view, creator: owners.get(view.creator_id ?? 0) ?? GHOST }))
}
