import { transaction } from '../../platform/database/database.ts'
import { checkLength } from '../accounts/users/user-fields.ts'
import type { Caller } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { Page, RepositoryName } from '../core/names.ts'
import { openOrganization } from '../organizations/organization-access.ts'
import type { NewLabels, ReposApp } from '../repositories/ports.ts'
import * as rows from './labels.rows.ts'
import { openForPlanning } from './planning-access.ts'
import type { Label } from './schema.ts'

export type { Label }

/**
 * The number of labels of one repository or organisation. It bounds the cost of counting a list.
 */
export const MAX_LABELS = 5_000

const MAX_NAME_CHARACTERS = 255
const MAX_DESCRIPTION_CHARACTERS = 1024

const COLOR = /^#?([0-9a-f]{3}|[0-9a-f]{6})$/

/** The number of characters of an invalid colour that its error repeats. */
const MAX_SHOWN_COLOR_CHARACTERS = 32

/** A repository or organisation whose labels the caller can access. */
export interface LabelHome {
  readonly owner: rows.LabelOwner
  /** Path of the owner in the API, such as `repos/bob/engine` or `orgs/acme`. */
  readonly path: string
}

export interface LabelDraft {
  readonly name: string
  /** Three or six hexadecimal digits, with or without `#`. */
  readonly color: string
  readonly description: string
  readonly exclusive: boolean
  readonly isArchived: boolean
}

/** Changes of a label. Undefined fields, an empty name and an empty colour change nothing. */
export interface LabelEdit {
  readonly name: string
  readonly color: string
  readonly description?: string | undefined
  readonly exclusive?: boolean | undefined
  readonly isArchived?: boolean | undefined
}

/** Opens the labels of a repository. */
export async function openRepositoryLabels(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  needed: 'read' | 'write',
): Promise<LabelHome> {
  const { repository, owner } = await openForPlanning(app, caller, name, needed)
  return {
    owner: { repository_id: repository.id, organization_id: null },
    path: `repos/${owner.name}/${repository.name}`,
  }
}

/** Opens the labels of an organisation. */
export async function openOrganizationLabels(
  app: ReposApp,
  caller: Caller,
  name: string,
  needed: 'visible' | 'owner',
): Promise<LabelHome> {
  const { organization } = await openOrganization(app, caller, name, needed)
  return {
    owner: { repository_id: null, organization_id: organization.id },
    path: `orgs/${organization.name}`,
  }
}

/** Returns a page of labels, sorted by name. */
export async function listLabels(
  app: ReposApp,
  { owner }: LabelHome,
  page: Page,
): Promise<{ labels: readonly Label[]; total: number }> {
  return {
    labels: await rows.listLabels(app.db, owner, page.offset, page.limit),
    total: await rows.countLabels(app.db, owner),
  }
}

/** Returns a label by its number. */
export async function getLabel(app: ReposApp, { owner }: LabelHome, id: number): Promise<Label> {
  return found(await rows.findLabel(app.db, owner, id))
}

/** Creates a label. */
export async function createLabel(
  app: ReposApp,
  { owner }: LabelHome,
  draft: LabelDraft,
): Promise<Label> {
  const { name, description } = draft
  if (name === '') throw new DomainError('INVALID_FIELD', { field: 'name' })
  checkTexts(name, description)
  const color = colorOf(draft.color)
  const flags = { exclusive: Number(draft.exclusive), archived: Number(draft.isArchived) }
  return transaction(app.db, async (tx) => {
    if ((await rows.countLabels(tx, owner)) >= MAX_LABELS) {
      throw new DomainError('TOO_MANY_LABELS', { limit: String(MAX_LABELS) })
    }
    return rows.insertLabel(tx, owner, { name, color, description, ...flags })
  })
}

/** Changes the given fields of a label. */
export async function editLabel(
  app: ReposApp,
  { owner }: LabelHome,
  id: number,
  edit: LabelEdit,
): Promise<Label> {
  return transaction(app.db, async (tx) => {
    const label = found(await rows.findLabel(tx, owner, id))
    checkTexts(edit.name, edit.description)
    return rows.updateLabel(tx, id, {
      name: edit.name || label.name,
      color: edit.color === '' ? label.color : colorOf(edit.color),
      description: edit.description ?? label.description,
      exclusive: Number(edit.exclusive ?? label.exclusive),
      archived: Number(edit.isArchived ?? label.archived),
    })
  })
}

/** Deletes a label, and removes it from everything that has it. */
export async function deleteLabel(app: ReposApp, { owner }: LabelHome, id: number): Promise<void> {
  await transaction(app.db, async (tx) => {
    const label = found(await rows.findLabel(tx, owner, id))
    await rows.deleteLabel(tx, label.id)
  })
}

function found(label: Label | undefined): Label {
  if (!label) throw new DomainError('LABEL_NOT_FOUND')
  return label
}

function checkTexts(name: string, description: string | undefined): void {
  checkLength('name', name, MAX_NAME_CHARACTERS)
  checkLength('description', description, MAX_DESCRIPTION_CHARACTERS)
}

/**
 * Returns a colour in its stored form. Three digits are doubled, as in CSS (CSS Color 4, section
 * 5.2).
 */
function colorOf(text: string): string {
  const digits = COLOR.exec(text.trim().toLowerCase())?.[1]
  if (digits === undefined) {
    throw new DomainError('INVALID_LABEL_COLOR', {
      color: text.slice(0, MAX_SHOWN_COLOR_CHARACTERS),
    })
  }
  return digits.length === 3 ? digits.replace(/./g, '$&$&') : digits
}

/** The labels of new repositories. */
export const newLabels: NewLabels = {
  async add(tx, repositoryId, labels) {
    const owner = { repository_id: repositoryId, organization_id: null }
    for (const { name, color, description, exclusive } of labels) {
      const flags = { exclusive: Number(exclusive), archived: 0 }
      await rows.insertLabel(tx, owner, { name, color, description, ...flags })
    }
  },

  async copy(tx, fromId, toId) {
    const from = { repository_id: fromId, organization_id: null }
    const to = { repository_id: toId, organization_id: null }
    for (const label of await rows.listLabels(tx, from, 0, MAX_LABELS)) {
      const { name, color, description, exclusive, archived } = label
      await rows.insertLabel(tx, to, { name, color, description, exclusive, archived })
    }
  },
}
