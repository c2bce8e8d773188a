import { createRegistry } from '@bufbuild/protobuf'
import { AccountSchema } from '#gen/branchline/v1/account_pb.ts'
import { IssueCommentSchema } from '#gen/branchline/v1/issue_comment_pb.ts'
import { IssueSchema } from '#gen/branchline/v1/issue_pb.ts'
import { LabelSchema } from '#gen/branchline/v1/label_pb.ts'
import { PullRequestSchema } from '#gen/branchline/v1/pull_request_pb.ts'
import { PullRequestService } from '#gen/branchline/v1/pull_request_service_pb.ts'
import { ReleaseSchema } from '#gen/branchline/v1/release_pb.ts'
import { RepositorySchema } from '#gen/branchline/v1/repository_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { compileWriter, dialectOf } from '../../platform/rpc/index.ts'
import { accountMessage } from '../accounts/users/accounts.message.ts'
import { commentMessage } from '../conversations/issue-comment.service.ts'
import { labelMessagesIn } from '../conversations/label.service.ts'
import { conversationMessage } from '../issues/issue.message.ts'
import { memoPayload } from '../memos/memo.service.ts'
import { pullRequestMessage } from '../pulls/lists/pull-request.message.ts'
import { repositoryMessage } from '../repositories/lifecycle/repository.message.ts'
import { releaseMessage } from '../repositories/releases/release.service.ts'
import type { Payloads } from './ports.ts'

/**
 * Creates the payloads of webhooks. Resources of the forge have the JSON form of their REST API.
 */
export function createPayloads(): Payloads {
  const dialect = dialectOf(PullRequestService, [RepositoryService])
  // No field has the type Any.
  const registry = createRegistry()
  const writePullRequest = compileWriter(PullRequestSchema, dialect, registry)
  const writeRepository = compileWriter(RepositorySchema, dialect, registry)
  const writeIssue = compileWriter(IssueSchema, dialect, registry)
  const writeLabel = compileWriter(LabelSchema, dialect, registry)
  const writeComment = compileWriter(IssueCommentSchema, dialect, registry)
  const writeRelease = compileWriter(ReleaseSchema, dialect, registry)
  const writeAccount = compileWriter(AccountSchema, dialect, registry)
  return {
    memo: memoPayload,
    pullRequest: (app, viewer, view) => writePullRequest(pullRequestMessage(app, viewer, view)),
    repository: (app, viewer, view) => writeRepository(repositoryMessage(app, viewer, view)),
    issue: (app, viewer, view) => writeIssue(conversationMessage(app, viewer, view)),
    label: (app, open, label) => labelMessagesIn(app, open, [label]).map(writeLabel).join(),
    comment: (app, viewer, view) => writeComment(commentMessage(app, viewer, view)),
    release: (app, viewer, view) => writeRelease(releaseMessage(app, viewer, view)),
    account: (app, viewer, account) => writeAccount(accountMessage(app, viewer, account)),
  }
}
