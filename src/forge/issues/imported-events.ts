import type { Tx } from '../../platform/database/schema.ts'
import { findLabelsNamed } from '../conversations/labels.rows.ts'
import { findMilestoneByTitle } from '../conversations/milestones.rows.ts'
import type { NewTimelineEntry, TimelineTable } from '../conversations/schema.ts'
import { insertTimelineEntries } from '../conversations/timeline.rows.ts'
import type { ImportRecord } from './import-records.ts'
import { accountOf, importedAuthor, type Users } from './imported-issues.ts'
import { type FindOther, type ImportedIssue, keyOfOther, waitFor } from './imported-links.ts'

/** The types of events that records bring and that are about one issue each. */
const TYPES: ReadonlySet<string> = new Set<TimelineTable['type']>([
  'close',
  'reopen',
  'change_title',
  'change_issue_ref',
  'label',
  'milestone',
  'assignees',
  'added_deadline',
  'modified_deadline',
  'removed_deadline',
  'lock',
  'unlock',
  'pin',
  'unpin',
])

/** Stores the events of an imported issue. Those about what is not here wait, or are left out. */
export async function storeEvents(
  tx: Tx,
  imported: ImportedIssue,
  users: Users,
  find: FindOther,
  now: number,
): Promise<void> {
  const { id: issue_id, repository, record: issue } = imported
  const entries: NewTimelineEntry[] = []
  for (const record of issue.parts('timeline')) {
    const type = record.text('type')
    const key = keyOfOther(type)
    if (key === undefined && !TYPES.has(type)) continue
    const other = key === undefined ? undefined : await find(record.part(key))
    const values = key === undefined ? await valuesOf(tx, repository.id, users, record) : NO_VALUES
    if (!values) continue
    const { id: actor_id, ...original } = importedAuthor(users, record.part('actor'))
    const entry = {
      issue_id,
      type: type as TimelineTable['type'],
      actor_id,
      ...original,
      create_time: record.time('created_at') ?? now,
      ...values,
      source_id: other?.id ?? null,
    }
    if (key === undefined || other) entries.push(entry)
    else waitFor(imported, record.part(key), { kind: 'event', entry: JSON.stringify(entry) })
  }
  for (let i = 0; i < entries.length; i += 100)
    await insertTimelineEntries(tx, entries.slice(i, i + 100))
}

type Values = Pick<TimelineTable, 'old_value' | 'new_value'>

const NO_VALUES: Values = { old_value: '', new_value: '' }

/** Returns the values of an event as stored; undefined for an event about what is not here. */
async function valuesOf(
  tx: Tx,
  repository_id: number,
  users: Users,
  record: ImportRecord,
): Promise<Values | undefined> {
  const either = (id: number | undefined, isAdded: boolean): Values | undefined => {
    if (id === undefined) return undefined
    return isAdded
      ? { old_value: '', new_value: String(id) }
      : { old_value: String(id), new_value: '' }
  }
  const milestone = async (key: string) => {
    const [title] = record.names(key, 'title')
    const found = title && (await findMilestoneByTitle(tx, repository_id, title))
    return found ? String(found.id) : ''
  }
  switch (record.text('type')) {
    case 'label': {
      const [name = ''] = record.names('label', 'name')
      const owner = { repository_id, organization_id: null }
      const found = await findLabelsNamed(tx, owner, [name])
      return either(found.get(name), record.text('body') !== '')
    }
    case 'milestone':
      return {
        old_value: await milestone('old_milestone'),
        new_value: await milestone('milestone'),
      }
    case 'assignees':
      return either(accountOf(users, record.part('assignee')), !record.flag('removed_assignee'))
    case 'change_title':
      return { old_value: record.text('old_title'), new_value: record.text('new_title') }
    case 'change_issue_ref':
      return { old_value: record.text('old_ref'), new_value: record.text('new_ref') }
    case 'close':
      return { old_value: record.text('body'), new_value: record.text('ref_commit_sha') }
    case 'reopen':
      return { old_value: '', new_value: record.text('ref_commit_sha') }
    case 'lock':
      return { old_value: '', new_value: record.text('body') }
    default:
      return { old_value: seconds(record, 'old_value'), new_value: seconds(record, 'new_value') }
  }
}

/** Returns a due date of an event, in Unix seconds; empty for none. */
function seconds(record: ImportRecord, key: string): string {
  return /^\d{0,12}$/.exec(record.text(key))?.[0] ?? record.refuse(`${key} is a number`)
}
