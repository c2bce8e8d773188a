import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import type { IssueTemplate } from '#gen/branchline/v1/issue_template_service_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Field, fieldOf, onSubmit } from '../components/forms.tsx'
import { FailureNote, Later, Show, useAction, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { SignInLink } from '../components/page.tsx'
import { loadFileField, useDraftedFiles } from '../conversations/drafted-files.ts'
import { T, t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import {
  answersOf,
  loadOffers,
  type Offers,
  TemplateChoice,
  TemplateFields,
} from './issue-templates.tsx'

/**
 * The choice of a template, and the form for a new issue. The address may have the template, the title,
 * the description, and for writers names of labels and users, separated by commas, and the number of a
 * milestone.
 */
export function NewIssuePage({ owner, repo, rest, query }: PageProps): VNode {
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Issues" title={t('New issue')}>
      {({ permissions }) => (
        <NewIssue
          name={{ owner, repo }}
          query={query}
          isChoice={rest[1] === 'choose'}
          isWriter={permissions?.push === true}
        />
      )}
    </RepositoryFrame>
  )
}

interface NewIssueProps {
  readonly name: { owner: string; repo: string }
  readonly query: URLSearchParams
  /** Whether the address is that of the choice. */
  readonly isChoice: boolean
  readonly isWriter: boolean
}

function NewIssue({ name, query, isChoice, isWriter }: NewIssueProps): VNode {
  const { of, session } = useApi()
  const offers = useLoad((signal) => loadOffers(of, name, signal), [name.owner, name.repo])
  return (
    <>
      <h2>{t('New issue')}</h2>
      {session.user ? (
        <Show of={offers}>
          {(offered) =>
            isChoice || isAsked(offered, query) ? (
              <TemplateChoice name={name} offers={offered} />
            ) : (
              <IssueForm
                // Another template has other fields.
                key={query.get('template') ?? ''}
                name={name}
                query={query}
                given={isWriter ? givenBy(query) : NOTHING_GIVEN}
                template={offered.templates.find(
                  ({ fileName }) => fileName === query.get('template'),
                )}
              />
            )
          }
        </Show>
      ) : (
        <p>
          <T text="{signIn} to open an issue." signIn={<SignInLink />} />
        </p>
      )}
    </>
  )
}

/** Returns whether the user chooses a template: there are some, and the address says nothing. */
function isAsked({ templates, links }: Offers, query: URLSearchParams): boolean {
  const isSaid = ['template', 'title', 'body', 'labels', 'assignees', 'milestone'].some((key) =>
    query.has(key),
  )
  return !isSaid && templates.length + links.length > 0
}

/** What a writer gives a new issue by the address of the form. */
interface Given {
  readonly labels: readonly string[]
  readonly assignees: readonly string[]
  /** 0 for none. */
  readonly milestone: bigint
}

/** The server ignores what users without write access give. */
const NOTHING_GIVEN: Given = { labels: [], assignees: [], milestone: 0n }

function givenBy(query: URLSearchParams): Given {
  const namesIn = (key: string) =>
    (query.get(key) ?? '')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
  const milestone = query.get('milestone') ?? ''
  return {
    labels: namesIn('labels'),
    assignees: namesIn('assignees'),
    milestone: /^\d{1,15}$/.test(milestone) ? BigInt(milestone) : 0n,
  }
}

function GivenFacts({ given: { labels, assignees, milestone } }: { given: Given }): VNode | null {
  const facts = [
    ...(labels.length > 0 ? [t('labels: {names}', { names: labels.join(', ') })] : []),
    ...(assignees.length > 0 ? [t('assignees: {names}', { names: assignees.join(', ') })] : []),
    ...(milestone > 0n ? [t('milestone: {number}', { number: String(milestone) })] : []),
  ]
  if (facts.length === 0) return null
  return <p class="facts">{t('The issue gets {facts}.', { facts: facts.join('; ') })}</p>
}

interface IssueFormProps {
  readonly name: { owner: string; repo: string }
  readonly query: URLSearchParams
  readonly given: Given
  /** Undefined for an issue without a template. */
  readonly template: IssueTemplate | undefined
}

function IssueForm({ name, query, given, template }: IssueFormProps): VNode {
  const { of, session } = useApi()
  const fields = template?.body ?? []
  const [body, setBody] = useState(query.get('body') ?? template?.content ?? '')
  const field = useRef<HTMLTextAreaElement>(null)
  const files = useDraftedFiles(`draft ${session.user?.username} ${name.owner}/${name.repo}/new`)
  const opening = useAction(async (form: HTMLFormElement) => {
    const request = {
      ...name,
      title: fieldOf(form, 'title'),
      template: template?.fileName ?? '',
      labels: given.labels.map((text) => ({
        kind: { case: 'stringValue' as const, value: text },
      })),
      assignees: [...given.assignees],
      milestone: given.milestone,
    }
    const text =
      fields.length > 0
        ? { fields: answersOf(form, fields) }
        : { body, attachments: files.within(body) }
    const { number } = await of(IssueService).createIssue({ ...request, ...text })
    files.clear()
    goTo(`${repositoryHref(name)}/issues/${number}`)
  })
  return (
    <form onSubmit={onSubmit(opening.run)}>
      {template && <p class="facts">{template.about}</p>}
      <GivenFacts given={given} />
      {opening.failure && <FailureNote failure={opening.failure} />}
      <Field
        label={t('Title')}
        name="title"
        defaultValue={query.get('title') ?? template?.title ?? ''}
        maxLength={255}
        required
      />
      {fields.length > 0 ? (
        <TemplateFields name={name} fields={fields} />
      ) : (
        <>
          <label>
            {t('Description')}
            <textarea
              ref={field}
              rows={10}
              value={body}
              onInput={(event) => setBody(event.currentTarget.value)}
            />
          </label>
          <Later load={loadFileField} with={{ name, files, field, onText: setBody }} />
        </>
      )}
      <p class="buttons">
        <button class="main" type="submit" disabled={opening.isRunning}>
          {t('Open the issue')}
        </button>
      </p>
    </form>
  )
}
