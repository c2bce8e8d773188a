import type { VNode } from 'preact'
import type { MergeQueue, MergeQueueGroup } from '#gen/branchline/v1/merge_queue_pb.ts'
import { MergeQueueService } from '#gen/branchline/v1/merge_queue_service_pb.ts'
import { codeHref, repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { NotFound } from '../components/page.tsx'
import { checkText } from '../components/values.ts'
import { T, t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import { useRepositoryEvents } from '../repositories/repository-events.ts'
import type { PageProps } from '../routes.ts'
import { queuePlaceOf } from './queue-box.tsx'

/** The merge queue of a branch, which the address names. */
export function MergeQueuePage({ owner, repo, rest }: PageProps): VNode {
  const base = rest.join('/')
  return (
    <RepositoryFrame
      owner={owner}
      repo={repo}
      tab="Pull requests"
      title={t('Merge queue of {branch}', { branch: base })}
    >
      {() => <Queue name={{ owner, repo }} base={base} />}
    </RepositoryFrame>
  )
}

interface QueueName {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly base: string
}

function Queue({ name, base }: QueueName): VNode {
  const { of } = useApi()
  const queue = useLoad(
    (signal) => of(MergeQueueService).getMergeQueue({ ...name, base }, { signal }),
    [],
  )
  const first = queue.value?.groups[0]?.headSha ?? ''
  // No conversation has the number 0. The other events are about refs, rules and the queue.
  const watched = { ...name, index: 0n, head: first, cursor: '' }
  const { isCut } = useRepositoryEvents(watched, queue.reload)
  if (queue.failure?.isMissing && !queue.value) return <NotFound />
  return (
    <>
      <h2>
        <T
          text="Merge queue of {branch}"
          branch={<a href={codeHref(name, { kind: 'branch', name: base }, '')}>{base}</a>}
        />
      </h2>
      <p role="status" class={isCut ? 'note' : 'hidden'}>
        {isCut && t('Reconnecting.')}
      </p>
      <Show of={queue}>
        {(value) => (
          <>
            <Entries name={name} queue={value} />
            {value.groups.map((group) => (
              <Group key={String(group.number)} name={name} group={group} />
            ))}
          </>
        )}
      </Show>
    </>
  )
}

function Entries({ name, queue }: { name: QueueName['name']; queue: MergeQueue }): VNode {
  if (queue.entries.length === 0) return <p>{t('No pull request waits.')}</p>
  return (
    <ol class="list">
      {queue.entries.map((entry) => (
        <li key={String(entry.id)}>
          <a href={`${repositoryHref(name)}/pulls/${entry.pullRequest?.number}`}>
            {entry.pullRequest?.title} #{entry.pullRequest?.number.toString()}
          </a>
          <p class="facts">
            {queuePlaceOf(entry)} <Time at={entry.addedAt} />
          </p>
        </li>
      ))}
    </ol>
  )
}

function Group({ name, group }: { name: QueueName['name']; group: MergeQueueGroup }): VNode {
  const { number, entries, headSha, statuses, deadline, ref } = group
  const heading = `group-${number}`
  return (
    <section class="box" aria-labelledby={heading}>
      <h3 id={heading}>
        {t('Tried together: {numbers}', {
          numbers: entries.map((entry) => `#${entry}`).join(', '),
        })}
      </h3>
      <p class="facts">
        <a href={`${repositoryHref(name)}/commit/${headSha}`}>{headSha.slice(0, 10)}</a>, {ref}
        {deadline && (
          <>
            , <T text="until {time}" time={<Time at={deadline} />} />
          </>
        )}
      </p>
      {statuses.length === 0 && <p>{t('No system has reported a check.')}</p>}
      <ul class="list">
        {statuses.map(({ context, status, description }) => (
          <li key={context}>
            <span class={`tag ${status}`}>{checkText(status)}</span> {context} {description}
          </li>
        ))}
      </ul>
    </section>
  )
}
