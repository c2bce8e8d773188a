import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Value } from '@bufbuild/protobuf/wkt'
import {
  type BatchEditIssuesRequest,
  BatchEditIssuesRequestSchema,
  type BatchEditIssuesResponseSchema,
} from '#gen/branchline/v1/issue_service_pb.ts'
import type { App } from '../app.ts'
import { endOfDay } from '../conversations/conversation-fields.ts'
import type { LabelReference } from '../conversations/conversation-labels.ts'
import { checkCommentText } from '../conversations/issue-comments.ts'
import { repeatableOf } from '../conversations/repeatable.message.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import { type BatchEdit, type BatchResult, batchEdit } from './batch-edit.ts'
import { readState } from './edit-issue.ts'

/** How the service reads and applies the fields of a request that EditIssue has, too. */
export interface FieldEditing {
  readonly referenceOf: (label: Value) => LabelReference
  /** Returns what changes the fields of one conversation. */
  readonly editing: (request: BatchEditIssuesRequest) => BatchEdit['editFields']
}

/** Changes several conversations as a request says, and returns the response. */
export async function batchEditIssues(
  app: App,
  caller: SignedIn,
  request: BatchEditIssuesRequest,
  fields: FieldEditing,
): Promise<MessageInitShape<typeof BatchEditIssuesResponseSchema>> {
  const { owner, repo, query, numbers } = request
  const results = await batchEdit(
    app,
    caller,
    { owner, repo },
    { query, numbers: numbers.map(Number) },
    readBatch(request, fields),
    {
      notifies: request.notify ?? true,
      validatesOnly: request.validateOnly,
      request: repeatableOf(BatchEditIssuesRequestSchema, request),
    },
  )
  return {
    results: results.map(resultMessage),
    changed: results.filter(({ changed }) => changed).length,
    failed: results.filter(({ reason }) => reason).length,
  }
}

/** @throws INVALID_FIELD, INVALID_ISSUE_STATE for what is wrong whatever the conversation. */
function readBatch(
  request: BatchEditIssuesRequest,
  { referenceOf, editing }: FieldEditing,
): BatchEdit {
  const { addLabels, removeLabels, setLabels, milestone, dueDate, comment } = request
  const { state, stateReason } = request
  readState({ state, stateReason, duplicateOf: undefined })
  if (dueDate !== '') endOfDay(dueDate)
  if (comment !== '') checkCommentText('comment', comment)
  const plans = milestone !== undefined || dueDate !== ''
  const labels = addLabels.length > 0 || removeLabels.length > 0 || setLabels
  return {
    labels: labels
      ? {
          set: setLabels?.values.map(referenceOf),
          add: addLabels.map(referenceOf),
          remove: removeLabels.map(referenceOf),
        }
      : undefined,
    addAssignees: request.addAssignees,
    removeAssignees: request.removeAssignees,
    plans,
    editFields: plans || state !== '' || stateReason !== '' ? editing(request) : undefined,
    lock: readLock(request),
    comment,
  }
}

function readLock({ lock, unlock }: BatchEditIssuesRequest): BatchEdit['lock'] {
  const kind = lock?.kind
  const reason =
    kind?.case === 'stringValue'
      ? kind.value
      : kind?.case === 'boolValue' && kind.value
        ? ''
        : undefined
  if (reason !== undefined && unlock)
    throw new DomainError('INVALID_FIELD', { field: 'unlock', rule: 'excludes lock' })
  return unlock ? null : reason
}

function resultMessage({ number, changed, reason }: BatchResult) {
  return {
    number: BigInt(number),
    changed,
    reason: reason ?? '',
    // The texts of errors belong to the protocols.
    message: reason?.toLowerCase().replaceAll('_', ' ') ?? '',
  }
}
