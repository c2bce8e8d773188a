import { create } from '@bufbuild/protobuf'
import {
  type MergeQueueEntry as MergeQueueEntryMessage,
  MergeQueueEntrySchema,
} from '#gen/branchline/v1/merge_queue_pb.ts'
import { accountMessage } from '../../accounts/users/accounts.message.ts'
import type { App } from '../../app.ts'
import type { Caller } from '../../core/access.ts'
import { atMs } from '../../core/wire/times.ts'
import type { OpenRepository } from '../../repositories/access/permissions.ts'
import type { QueueEntryView } from './queue-views.ts'

/** Returns an entry of a merge queue as its viewer sees it. */
export function queueEntryMessage(
  app: App,
  viewer: Caller,
  { owner, repository }: Pick<OpenRepository, 'owner' | 'repository'>,
  { entry, pull, base, below, style, position, adder, estimatedMinutes, reason }: QueueEntryView,
): MergeQueueEntryMessage {
  const { group_number: group, leave_time, add_time } = entry
  const isIn = leave_time === null
  const page = `${app.publicUrl()}/${owner.name}/${repository.name}/pulls/${pull.number}`
  return create(MergeQueueEntrySchema, {
    id: BigInt(entry.id),
    pullRequest: { number: BigInt(pull.number), title: pull.title, htmlUrl: page },
    base,
    ...(below !== undefined && { stackedOn: BigInt(below) }),
    state: entry.state,
    position: BigInt(position),
    ...(isIn && group !== null && { group: BigInt(group) }),
    headSha: entry.head_commit,
    candidateSha: entry.candidate_commit ?? '',
    addedBy: accountMessage(app, viewer, adder),
    addedAt: atMs(add_time),
    priority: entry.is_jump === 1 ? 'jump' : 'normal',
    style,
    estimatedMinutes: BigInt(estimatedMinutes),
    ...(leave_time !== null && { leftAt: atMs(leave_time) }),
    ...(reason && {
      reason: {
        code: reason.code,
        text: reason.text,
        files: [...(reason.files ?? [])],
        contexts: [...(reason.contexts ?? [])],
      },
    }),
  })
}
