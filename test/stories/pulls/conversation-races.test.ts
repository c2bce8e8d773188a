import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findUserById } from '../../../src/forge/accounts/users/users.rows.ts'
import type { ConversationNeed } from '../../../src/forge/conversations/conversation-needs.ts'
import { createIssueComment } from '../../../src/forge/conversations/issue-comments.ts'
import { type OpenPull, openPull } from '../../../src/forge/pulls/heads/open-pulls.ts'
import { changeReviews, rereadForReview } from '../../../src/forge/pulls/review/review-changes.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import { session } from '../../support/forge-rows.ts'
import { createPullTestUsers, type PullTestUsers } from '../../support/pull-forge.ts'
import { type ReviewedPull, reviewForge } from '../../support/review-forge.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof reviewForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = reviewForge(server, users)
})
afterAll(() => server.stop())

/** Opens a pull request as eve, as a call does before its transaction. */
async function opened({ name }: ReviewedPull) {
  const { id } = await forge.ask(users.eve, 'GET', '/user')
  const user = await findUserById(server.app.db, id)
  if (!user) throw new Error('eve is missing')
  const caller = session(user)
  const place = { owner: 'bob', repo: name, number: 1 }
  return { caller, place, open: await openPull(server.app, caller, place, 'take part') }
}

type Opened = Awaited<ReturnType<typeof opened>>

/** Tries what a call does in its transaction. Returns the reasons by what the change needs. */
async function refusals({ caller, open }: Opened) {
  const reasonOf = async (needs: ConversationNeed) => {
    let isDone = false
    const reason = await changeReviews(
      server.app,
      caller,
      open,
      { type: 'PULL_REQUEST_COMMENTED', needs, told: () => [] },
      async () => {
        isDone = true
      },
    ).then(
      () => 'done',
      ({ reason }: { reason: string }) => reason,
    )
    expect(isDone).toBe(reason === 'done')
    return reason
  }
  return {
    voice: await reasonOf('voice'),
    'no block': await reasonOf('no block'),
    'no lock': await reasonOf('no lock'),
    nothing: await reasonOf('nothing'),
  }
}

describe('a change of a conversation, in its transaction', () => {
  it('finds a lock that came after the pull request was opened', async () => {
    const pull = await forge.pull('locked-late')
    const seen = await opened(pull)
    await forge.ask(users.bob, 'PUT', `${pull.path}/issues/1/lock`, { lock_reason: 'Spam' })
    expect(await refusals(seen)).toEqual({
      voice: 'CONVERSATION_LOCKED',
      'no block': 'done',
      'no lock': 'CONVERSATION_LOCKED',
      nothing: 'done',
    })
  })

  it.each(['bob', 'carol'] as const)('finds a block by %s', async (blocker) => {
    const pull = await forge.pull(`blocked-late-by-${blocker}`)
    const seen = await opened(pull)
    await forge.ask(users[blocker], 'PUT', '/user/blocks/eve')
    const reasons = await refusals(seen)
    await forge.ask(users[blocker], 'DELETE', '/user/blocks/eve')
    expect(reasons).toEqual({
      voice: 'USER_BLOCKED',
      'no block': 'USER_BLOCKED',
      'no lock': 'done',
      nothing: 'done',
    })
  })

  it('finds that the repository was archived', async () => {
    const pull = await forge.pull('archived-late')
    const seen = await opened(pull)
    await forge.ask(users.bob, 'PATCH', pull.path, { archived: true })
    expect(await refusals(seen)).toEqual({
      voice: 'REPOSITORY_ARCHIVED',
      'no block': 'REPOSITORY_ARCHIVED',
      'no lock': 'REPOSITORY_ARCHIVED',
      nothing: 'REPOSITORY_ARCHIVED',
    })
  })

  it('is refused or comes before the lock, when both happen at the same moment', async () => {
    const pull = await forge.pull('hasty-lock')
    const { caller, place, open } = await opened(pull)
    const said = Array.from({ length: 10 }, (_, i) =>
      createIssueComment(server.app, caller, place, { body: `Word ${i}.`, attachments: [] }).then(
        () => 'said',
        ({ reason }: { reason: string }) => reason,
      ),
    )
    await forge.ask(users.bob, 'PUT', `${pull.path}/issues/1/lock`, {})
    for (const outcome of await Promise.all(said))
      expect(['said', 'CONVERSATION_LOCKED']).toContain(outcome)
    const work = transaction(server.app.db, (tx) => rereadOf(tx, caller, open))
    await expect(work).rejects.toMatchObject({ reason: 'CONVERSATION_LOCKED' })
  })
})

const rereadOf = (
  tx: Parameters<typeof rereadForReview>[0],
  caller: Opened['caller'],
  open: OpenPull,
) => rereadForReview(tx, caller, open, 'voice')
