import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { PullFileService } from '#gen/branchline/v1/pull_file_service_pb.ts'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { useApi } from '../api/client.ts'
import { Diff } from '../code/diff.tsx'
import { useDiff } from '../code/diff-load.ts'
import { Show } from '../components/load.tsx'
import { SignInLink } from '../components/sign-in-link.tsx'
import { DiscussionContext } from '../conversations/discussion.ts'
import { useDiscussion } from '../conversations/use-discussion.ts'
import { ReviewBox, ReviewHint } from './review-box.tsx'
import type { PullName } from './reviews.ts'

interface PullFilesProps {
  readonly repository: Repository
  readonly name: PullName
  readonly pull: PullRequest
  /** Grows when something has happened. */
  readonly version: number
}

/** The changes of a pull request, with what people say about the lines. */
export function PullFiles({ repository, name, pull, version }: PullFilesProps): VNode {
  const { of, session } = useApi()
  const sha = pull.head?.sha ?? ''
  const diff = useDiff(
    (signal) => of(PullFileService).getPullRequestDiff({ ...name, format: 'diff' }, { signal }),
    [sha],
  )
  // Until the changes of a new head are there, comments belong to the head before.
  const head = useMemo(() => sha, [diff.value])
  const discussion = useDiscussion({ repository, name, pull, head, version })
  const canVote = pull.state === 'open' && session.user?.username !== pull.user?.login
  return (
    <DiscussionContext.Provider value={discussion.value}>
      {discussion.value?.canComment && <ReviewHint pending={discussion.value.pending} />}
      {!session.user && (
        <p>
          <SignInLink /> to review the changes.
        </p>
      )}
      <Show of={discussion}>{() => null}</Show>
      <Show of={diff}>{(files) => <Diff {...files} />}</Show>
      {discussion.value?.canComment && (
        <ReviewBox discussion={discussion.value} canVote={canVote} />
      )}
    </DiscussionContext.Provider>
  )
}
