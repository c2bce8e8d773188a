import { transaction } from '../../platform/database/database.ts'
import type { Db } from '../../platform/database/schema.ts'
import { checkLength } from '../accounts/users/user-fields.ts'
import type { Caller } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import type { Page, RepositoryName } from '../core/names.ts'
import type { OpenRepository } from '../repositories/access/permissions.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { Repository } from '../repositories/schema.ts'
import { countsFor } from './milestone-counts.ts'
import * as rows from './milestones.rows.ts'
import { openForPlanning } from './planning-access.ts'
import type { Milestone } from './schema.ts'

export type { Milestone }

/** The number of milestones of one repository. It bounds the cost of counting a list. */
const MAX_MILESTONES = 5_000

/**
 * The start of the year 9999 in Unix seconds. Clients of compatible systems send a time in that
 * year to clear the date.
 */
export const NO_DATE_FROM_SECONDS = Date.UTC(9999, 0) / 1000

const MAX_TITLE_CHARACTERS = 255
const MAX_DESCRIPTION_CHARACTERS = 65_536

/** The form of milestone ids. Longer numbers are titles. */
const MILESTONE_ID = /^[0-9]{1,15}$/

export interface MilestoneDraft {
  readonly title: string
  readonly description: string
  /** Unix seconds; null for no date. */
  readonly dueTime: number | null
  /** `closed`; any other text means open. */
  readonly state: string
}

/** Changes of a milestone. Undefined fields, an empty title and an empty state change nothing. */
export interface MilestoneEdit {
  readonly title: string
  readonly description: string | undefined
  /** Unix seconds; null clears the date. */
  readonly dueTime: number | null | undefined
  readonly state: string
}

/** Opens a repository to read or write its milestones. */
export async function openMilestones(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  needed: 'read' | 'write',
): Promise<OpenRepository> {
  return openForPlanning(app, caller, name, needed)
}

/**
 * Returns a page of milestones, sorted by due date. Milestones without a date are last.
 *
 * @param state `closed` or `all`. Any other text means open.
 * @param titlePart a substring of the title; empty for all.
 */
export async function listMilestones(
  app: ReposApp,
  open: OpenRepository,
  state: string,
  titlePart: string,
  page: Page,
): Promise<{ milestones: readonly Milestone[]; total: number }> {
  const { id } = open.repository
  const filter = { state: state === 'all' ? undefined : stateOf(state), titlePart }
  return {
    milestones: await countsFor(
      app.db,
      [open],
      await rows.listMilestones(app.db, id, filter, page.offset, page.limit),
    ),
    total: await rows.countMilestones(app.db, id, filter),
  }
}

/** Returns the milestone with an id or, if none has it, with a title. */
export async function getMilestone(
  app: ReposApp,
  open: OpenRepository,
  text: string,
): Promise<Milestone> {
  return counted(app, open, await findMilestone(app.db, open.repository, text))
}

async function counted(
  app: ReposApp,
  open: OpenRepository,
  milestone: Milestone,
): Promise<Milestone> {
  const [seen = milestone] = await countsFor(app.db, [open], [milestone])
  return seen
}

/** Creates a milestone. */
export async function createMilestone(
  app: ReposApp,
  { repository: { id } }: OpenRepository,
  draft: MilestoneDraft,
): Promise<Milestone> {
  const { title, description, dueTime } = draft
  if (title === '') throw new DomainError('INVALID_FIELD', { field: 'title' })
  checkTexts(title, description)
  const now = nowSeconds(app.clock)
  const state = stateOf(draft.state)
  return transaction(app.db, async (tx) => {
    const count = await rows.countMilestones(tx, id, { state: undefined, titlePart: '' })
    if (count >= MAX_MILESTONES)
      throw new DomainError('TOO_MANY_MILESTONES', { limit: String(MAX_MILESTONES) })
    return rows.insertMilestone(tx, {
      repository_id: id,
      title,
      description,
      state,
      due_time: dueTime,
      close_time: state === 'closed' ? now : null,
      create_time: now,
      update_time: now,
    })
  })
}

/** Changes the given fields of a milestone. */
export async function editMilestone(
  app: ReposApp,
  open: OpenRepository,
  text: string,
  edit: MilestoneEdit,
): Promise<Milestone> {
  const now = nowSeconds(app.clock)
  const edited = await transaction(app.db, async (tx) => {
    const milestone = await findMilestone(tx, open.repository, text)
    checkTexts(edit.title, edit.description)
    const state = edit.state === '' ? milestone.state : stateOf(edit.state)
    return rows.updateMilestone(tx, milestone.id, {
      title: edit.title || milestone.title,
      description: edit.description ?? milestone.description,
      due_time: edit.dueTime === undefined ? milestone.due_time : edit.dueTime,
      state,
      close_time: state === 'closed' ? (milestone.close_time ?? now) : null,
      update_time: now,
    })
  })
  return counted(app, open, edited)
}

/** Deletes a milestone, and removes it from everything that has it. */
export async function deleteMilestone(
  app: ReposApp,
  { repository }: OpenRepository,
  text: string,
): Promise<void> {
  await transaction(app.db, async (tx) => {
    const { id } = await findMilestone(tx, repository, text)
    await rows.deleteMilestone(tx, id)
  })
}

async function findMilestone(db: Db, repository: Repository, text: string): Promise<Milestone> {
  const byId = MILESTONE_ID.test(text)
    ? await rows.findMilestone(db, repository.id, Number(text))
    : undefined
  const milestone = byId ?? (await rows.findMilestoneByTitle(db, repository.id, text))
  if (!milestone) throw new DomainError('MILESTONE_NOT_FOUND')
  return milestone
}

function stateOf(text: string): Milestone['state'] {
  return text === 'closed' ? 'closed' : 'open'
}

function checkTexts(title: string, description: string | undefined): void {
  checkLength('title', title, MAX_TITLE_CHARACTERS)
  checkLength('description', description, MAX_DESCRIPTION_CHARACTERS)
}
