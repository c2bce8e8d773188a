import type { Timestamp } from '@bufbuild/protobuf/wkt'
import type { VNode } from 'preact'
import type { Milestone } from '#gen/branchline/v1/milestone_pb.ts'
import { MilestoneService } from '#gen/branchline/v1/milestone_service_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { PAGE, useApi } from '../api/client.ts'
import { timestampDate, timestampFromDate } from '../api/timestamps.ts'
import {
  ActionButton,
  ActionForm,
  Confirmed,
  Field,
  fieldOf,
  TextArea,
} from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Pager, pageOf } from '../components/page.tsx'
import { LOCALE, plural, t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'

const STATES = ['open', 'closed'] as const

const TEXTS = {
  open: { tab: t('Open @state'), none: t('No open milestones.') },
  closed: { tab: t('Closed'), none: t('No closed milestones.') },
} as const

/** The milestones of a repository, and for writers the forms that change them. */
export function MilestonesPage({ owner, repo, query }: PageProps): VNode {
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Issues" title={t('Milestones')}>
      {({ archived, permissions }) => (
        <Milestones
          name={{ owner, repo }}
          query={query}
          isWriter={permissions?.push === true && !archived}
        />
      )}
    </RepositoryFrame>
  )
}

interface MilestonesProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly query: URLSearchParams
  readonly isWriter: boolean
}

function Milestones({ name, query, isWriter }: MilestonesProps): VNode {
  const { of } = useApi()
  const page = pageOf(query)
  const state = STATES.find((known) => known === query.get('state')) ?? 'open'
  const list = useLoad(
    (signal) =>
      of(MilestoneService).listMilestones({ ...name, state, page, limit: PAGE }, { signal }),
    [state, page],
  )
  const context = { name, isWriter, reload: list.reload }
  return (
    <>
      <h2>{t('Milestones')}</h2>
      <nav class="tabs" aria-label={t('Filter')}>
        {STATES.map((known) => (
          <a
            key={known}
            href={`${repositoryHref(name)}/milestones?state=${known}`}
            aria-current={known === state ? 'page' : undefined}
          >
            {TEXTS[known].tab}
          </a>
        ))}
      </nav>
      <Show of={list}>
        {({ milestones, total, limit }) => (
          <>
            {milestones.length === 0 && <p class="empty">{TEXTS[state].none}</p>}
            <ul class="list">
              {milestones.map((milestone) => (
                <MilestoneEntry key={String(milestone.id)} milestone={milestone} {...context} />
              ))}
            </ul>
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
      {isWriter && (
        <>
          <h3>{t('Add a milestone')}</h3>
          <ActionForm
            label={t('Add a milestone')}
            submit={t('Create the milestone')}
            done={t('The milestone is created.')}
            isEmptied
            act={async (form) => {
              await of(MilestoneService).createMilestone({ ...name, ...readMilestone(form) })
              list.reload()
            }}
          >
            <MilestoneFields />
          </ActionForm>
        </>
      )}
    </>
  )
}

interface EntryProps extends Pick<MilestonesProps, 'name' | 'isWriter'> {
  readonly milestone: Milestone
  readonly reload: () => void
}

function MilestoneEntry(props: EntryProps): VNode {
  const { name, milestone, isWriter } = props
  const { title, description, openIssues, closedIssues, dueOn } = milestone
  const base = `${repositoryHref(name)}/issues`
  const linkTo = (state: string) =>
    `${base}?${new URLSearchParams({ state, milestones: filterOf(milestone) })}`
  const total = openIssues + closedIssues
  const where = <span class="hidden"> {t('in {title}', { title })}</span>
  return (
    <li>
      <a href={linkTo('all')}>{title}</a>
      {description !== '' && <p>{description}</p>}
      {total > 0n && (
        <progress
          aria-label={t('Progress of {title}', { title })}
          max={Number(total)}
          value={Number(closedIssues)}
        />
      )}
      <p class="facts">
        <a href={linkTo('open')}>
          {plural(openIssues, '{count} open', '{count} open')}
          {where}
        </a>
        ,{' '}
        <a href={linkTo('closed')}>
          {plural(closedIssues, '{count} closed', '{count} closed')}
          {where}
        </a>
        {dueOn && `, ${t('due {date}', { date: dueText(dueOn) })}`}
      </p>
      {isWriter && <MilestoneActions {...props} />}
    </li>
  )
}

/** Commas separate the milestones of a filter, so that a title with a comma needs the number. */
function filterOf({ id, title }: Milestone): string {
  return title.includes(',') ? id.toString() : title
}

function MilestoneActions({ name, milestone, reload }: EntryProps): VNode {
  const { of } = useApi()
  const { title, state } = milestone
  const id = milestone.id.toString()
  const isOpen = state === 'open'
  const change = t('Change the milestone {title}', { title })
  return (
    <>
      <details>
        <summary>{change}</summary>
        <ActionForm
          label={change}
          submit={t('Save the milestone')}
          done={t('Saved.')}
          act={async (form) => {
            await of(MilestoneService).editMilestone({ ...name, id, ...readMilestone(form) })
            reload()
          }}
        >
          <MilestoneFields milestone={milestone} />
        </ActionForm>
      </details>
      <div class="row">
        <ActionButton
          text={t(isOpen ? 'Close' : 'Open again')}
          about={title}
          act={async () => {
            const next = isOpen ? 'closed' : 'open'
            await of(MilestoneService).editMilestone({ ...name, id, state: next })
            reload()
          }}
        />
        <Confirmed
          action={t('Delete')}
          about={title}
          question={t('All issues and pull requests lose the milestone {title}.', { title })}
          act={async () => {
            await of(MilestoneService).deleteMilestone({ ...name, id })
            reload()
          }}
        />
      </div>
    </>
  )
}

function MilestoneFields({ milestone }: { milestone?: Milestone }): VNode {
  const due = milestone?.dueOn
  return (
    <>
      <Field
        label={t('Title')}
        name="title"
        autocomplete="off"
        maxLength={255}
        required
        defaultValue={milestone?.title ?? ''}
      />
      <TextArea
        label={t('Description')}
        name="description"
        rows={3}
        defaultValue={milestone?.description ?? ''}
      />
      <Field
        label={t('Due date')}
        name="due"
        type="date"
        defaultValue={due ? timestampDate(due).toISOString().slice(0, 10) : ''}
      />
    </>
  )
}

/** The API removes the due date of a milestone for a later time, and keeps the date for none. */
const NO_DUE_DATE = '9999-12-31'

/** A due date is the last second of a day in universal time, so that all readers see one day. */
function readMilestone(form: HTMLFormElement) {
  const due = fieldOf(form, 'due') || NO_DUE_DATE
  return {
    title: fieldOf(form, 'title'),
    description: fieldOf(form, 'description'),
    dueOn: timestampFromDate(new Date(`${due}T23:59:59Z`)),
  }
}

function dueText(due: Timestamp): string {
  return timestampDate(due).toLocaleDateString(LOCALE, { timeZone: 'UTC', dateStyle: 'medium' })
}
