import type { VNode } from 'preact'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { ownHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { ActionButton, ActionForm, fieldOf, Select } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { StateTag } from '../components/state-tag.tsx'
import { t } from '../language/texts.tsx'
import type { PullName } from '../pulls/reviews.ts'
import { ReferenceField, referenceOf } from './references.tsx'

interface DependenciesProps {
  readonly name: PullName
  readonly isWriter: boolean
  /** Grows when something has happened. */
  readonly version: number
  /** Called after a change. What the issue blocks may be elsewhere, whose events do not come here. */
  readonly onChange: () => void
}

const DIRECTIONS = [
  ['waits', t('The issue waits for')],
  ['blocks', t('The issue blocks')],
] as const

/** What an issue waits for, and what waits for the issue, with a form that adds both. */
export function Dependencies({ name, isWriter, version, onChange }: DependenciesProps): VNode {
  const { of } = useApi()
  const found = useLoad(
    async (signal) => {
      const [waits, blocks] = await Promise.all([
        of(IssueService).listIssueDependencies(name, { signal }),
        of(IssueService).listIssueBlocks(name, { signal }),
      ])
      return { waits: waits.issues, blocks: blocks.issues }
    },
    [version],
  )
  // A repository may have dependencies switched off.
  if (found.failure?.reason === 'DEPENDENCIES_DISABLED') return <section hidden />
  const add = async (form: HTMLFormElement) => {
    const other = referenceOf(fieldOf(form, 'other'))
    await (fieldOf(form, 'direction') === 'blocks'
      ? of(IssueService).addIssueBlock({ ...name, block: other })
      : of(IssueService).addIssueDependency({ ...name, dependency: other }))
    found.reload()
    onChange()
  }
  const remove = async (direction: 'waits' | 'blocks', other: Issue) => {
    const { owner = name.owner, name: repo = name.repo } = other.repository ?? {}
    const reference = { owner, repo, index: other.number }
    await (direction === 'blocks'
      ? of(IssueService).removeIssueBlock({ ...name, block: reference })
      : of(IssueService).removeIssueDependency({ ...name, dependency: reference }))
    found.reload()
    onChange()
  }
  return (
    <Show of={found}>
      {(lists) => (
        <section
          class="box"
          aria-labelledby="dependencies"
          hidden={lists.waits.length + lists.blocks.length === 0 && !isWriter}
        >
          <h3 id="dependencies">{t('Dependencies')}</h3>
          {DIRECTIONS.map(
            ([direction, words]) =>
              lists[direction].length > 0 && (
                <div key={direction}>
                  <p>{words}</p>
                  <ul>
                    {lists[direction].map((issue) => (
                      <Other
                        key={String(issue.id)}
                        issue={issue}
                        remove={isWriter ? () => remove(direction, issue) : undefined}
                      />
                    ))}
                  </ul>
                </div>
              ),
          )}
          {isWriter && (
            <ActionForm
              label={t('Add a dependency')}
              submit={t('Add the dependency')}
              act={add}
              isEmptied
            >
              <Select label={t('Direction')} name="direction" value="waits" options={DIRECTIONS} />
              <ReferenceField label={t('Number, or owner/repository#number')} name="other" />
            </ActionForm>
          )}
        </section>
      )}
    </Show>
  )
}

function Other(props: { issue: Issue; remove: (() => Promise<void>) | undefined }): VNode {
  const { issue, remove } = props
  // Of what the reader may not read, there is only that it exists.
  if (issue.number === 0n) return <li>{t('something that you may not read')}</li>
  const about = `#${issue.number}`
  return (
    <li>
      <StateTag state={issue.state} />{' '}
      <a href={ownHref(issue.htmlUrl)}>
        {issue.title} {about}
      </a>{' '}
      {remove && <ActionButton text={t('Remove')} about={about} act={remove} />}
    </li>
  )
}
