import type { VNode } from 'preact'
import { Field, onSubmit, Select } from '../components/forms.tsx'
import { t } from '../language/texts.tsx'

/** The filters of the address of a list, beside the state and the page. */
const FILTERS = [
  'q',
  'author',
  'assignee',
  'labels',
  'milestones',
  'review',
  'checks',
  'draft',
  'sort',
] as const

export type Filters = Partial<Record<(typeof FILTERS)[number], string>>

const ORDERS = [
  ['', t('Newest first')],
  ['oldest', t('Oldest first')],
  ['recentupdate', t('Last changed first')],
  ['leastupdate', t('Last changed last')],
  ['mostcomment', t('Most comments first')],
  ['leastcomment', t('Fewest comments first')],
  ['nearduedate', t('Earliest due date first')],
  ['farduedate', t('Latest due date first')],
] as const

/** What pull requests are filtered by beside, and the terms of the query language for each choice. */
const CHOICES = [
  {
    name: 'review',
    label: t('Review'),
    options: [
      ['', t('Any @filter')],
      ['none', t('None @review')],
      ['requested', t('Requested')],
      ['approved', t('Approved')],
      ['changes_requested', t('Changes requested')],
    ],
  },
  {
    name: 'checks',
    label: t('Checks'),
    options: [
      ['', t('Any @filter')],
      ['none', t('None @checks')],
      ['pending', t('Running')],
      ['success', t('Succeeded')],
      ['failure', t('Failed')],
    ],
  },
  {
    name: 'draft',
    label: t('Draft'),
    options: [
      ['', t('Any @filter')],
      ['true', t('Drafts')],
      ['false', t('No drafts')],
    ],
  },
] as const

/** Returns the query for the server: that of the reader, and what else the filters ask for. */
export function queryOf({ q = '', review, checks, draft }: Filters): string {
  const terms = [
    ...(review === undefined ? [] : [`review:${review}`]),
    ...(checks === undefined ? [] : [`checks:${checks}`]),
    ...(draft === undefined ? [] : [draft === 'true' ? 'is:draft' : '-is:draft']),
  ]
  if (terms.length === 0 || !/\bOR\b/.test(q)) return [q, ...terms].join(' ').trim()
  // The terms hold for both sides of `OR`, and an order stands outside of parentheses.
  const [order = ''] = /\bsort:\S+/i.exec(q) ?? []
  return [`(${q.replace(order, '')})`, ...terms, order].join(' ').trim()
}

interface FilterFormProps {
  readonly kept: Filters
  /** The label of the field for the query. */
  readonly search: string
  /** Whether the list has pull requests, which have reviews and checks. */
  readonly hasPulls: boolean
  readonly onFilter: (filters: Filters) => void
}

/** The form with the filters of a list. */
export function FilterForm({ kept, search, hasPulls, onFilter }: FilterFormProps): VNode {
  const { q = '', author = '', assignee = '', labels = '', milestones = '', sort = '' } = kept
  return (
    <search>
      <form
        class="row filters"
        onSubmit={onSubmit((form) => onFilter(filtersOf(new FormData(form))))}
      >
        <Field label={search} name="q" type="search" defaultValue={q} maxLength={1024} />
        <Field label={t('Author')} name="author" defaultValue={author} maxLength={255} />
        <Field label={t('Assignee')} name="assignee" defaultValue={assignee} maxLength={255} />
        <Field label={t('Labels')} name="labels" defaultValue={labels} />
        <Field label={t('Milestones')} name="milestones" defaultValue={milestones} />
        {hasPulls &&
          CHOICES.map(({ name, label, options }) => (
            <Select
              key={name}
              label={label}
              name={name}
              value={kept[name] ?? ''}
              options={options}
            />
          ))}
        <Select label={t('Order')} name="sort" value={sort} options={ORDERS} />
        <button type="submit">{t('Search')}</button>
      </form>
    </search>
  )
}

/** Returns the filters of an address or of the form that are not empty. */
export function filtersOf(source: URLSearchParams | FormData): Filters {
  const filters: Filters = {}
  for (const filter of FILTERS) {
    const value = source.get(filter)
    if (typeof value === 'string' && value !== '') filters[filter] = value
  }
  // The former name of the author in the address of a list of pull requests.
  const poster = source.get('poster')
  if (typeof poster === 'string' && poster !== '') filters.author ??= poster
  return filters
}
