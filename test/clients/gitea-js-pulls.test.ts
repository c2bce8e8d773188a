import { fileURLToPath } from 'node:url'
import { type Api, ContentType, giteaApi } from 'gitea-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createTestUsers,
  createToken,
  startTestServer,
  type TestServer,
} from '../support/server.ts'
import { misfits, readDeclaredTypes } from './declared-types.ts'

const types = readDeclaredTypes(
  fileURLToPath(new URL('index.d.ts', import.meta.resolve('gitea-js'))),
)

let server: TestServer
/** Bob has the repository, carol a fork of it. */
let bob: Api<unknown>
let carol: Api<unknown>

beforeAll(async () => {
  server = await startTestServer()
  // The answer to a new pull request says whether it can be merged, however busy the machine is.
  server.app.patience.mergeCheckMs = 60_000
  const users = await createTestUsers(server.url)
  bob = giteaApi(server.url, { token: await createToken(server.url, users.bob, ['all']) })
  carol = giteaApi(server.url, { token: await createToken(server.url, users.carol, ['all']) })
  await bob.user.createCurrentUserRepo({ name: 'garden', auto_init: true })
  await carol.repos.createFork(...HOME, {})
})
afterAll(() => server.stop())

/** The client says so itself of most calls, and forgets it of these. */
const JSON_BODY = { type: ContentType.Json }

const HOME = ['bob', 'garden'] as const
const FORK = ['carol', 'garden'] as const

const content = (text: string) => Buffer.from(text).toString('base64')

/** Writes a file on a branch of the fork. */
async function plant(
  path: string,
  text: string,
  branches: { branch: string; new_branch?: string },
) {
  const { data } = await carol.repos.repoCreateFile(...FORK, path, {
    content: content(text),
    ...branches,
  })
  return data.commit?.sha ?? ''
}

const failure = (call: Promise<unknown>) =>
  call.then(
    () => expect.fail('did not fail'),
    (error: unknown) => error,
  )

describe('gitea-js, of a pull request from a fork', () => {
  let number = 0
  let head = ''

  it('opens it, reads it in each way, and finds it in lists', async () => {
    head = await plant('beds.txt', 'roses\ntulips\n', { branch: 'main', new_branch: 'beds' })
    const draft = {
      title: 'Beds',
      body: 'To be seen.',
      head: 'carol:beds',
      base: 'main',
      assignees: ['bob'],
    }
    const { status, data } = await carol.repos.repoCreatePullRequest(...HOME, draft)
    expect([status, data.state, data.title, data.user?.login, data.head?.sha]).toEqual([
      201,
      'open',
      'Beds',
      'carol',
      head,
    ])
    expect(misfitsOf('PullRequest', data)).toEqual([])
    number = data.number ?? 0
    const { data: read } = await bob.repos.repoGetPullRequest(...HOME, number)
    expect([read.mergeable, read.merged, read.additions, read.changed_files]).toEqual([
      true,
      false,
      2,
      1,
    ])
    const { data: between } = await bob.repos.repoGetPullRequestByBaseHead(
      ...HOME,
      'main',
      'carol:beds',
    )
    expect(between.number).toBe(number)
    const { data: listed, headers } = await bob.repos.repoListPullRequests(...HOME, {
      sort: 'recentupdate',
    })
    expect([listed.map(({ id }) => id), headers.get('x-total-count')]).toEqual([[read.id], '1'])
    expect(misfitsOf('PullRequest[]', listed).filter((text) => !COUNTED.test(text))).toEqual([])
    expect(await failure(carol.repos.repoCreatePullRequest(...HOME, draft))).toMatchObject({
      status: 409,
    })
  })

  it('edits it', async () => {
    const { data: label } = await bob.repos.issueCreateLabel(...HOME, {
      name: 'spring',
      color: '#00ff00',
    })
    const edit = { title: 'New beds', labels: [label.id ?? 0], due_date: '2030-05-01T10:00:00Z' }
    const { status, data } = await bob.repos.repoEditPullRequest(...HOME, number, edit)
    expect([status, data.title, data.labels?.map(({ name }) => name), data.due_date]).toEqual([
      201,
      'New beds',
      ['spring'],
      '2030-05-01T23:59:59Z',
    ])
    expect(misfitsOf('PullRequest', data)).toEqual([])
    expect(
      (await carol.repos.repoEditPullRequest(...HOME, number, { state: 'closed' })).data.state,
    ).toBe('closed')
    expect(
      (await carol.repos.repoEditPullRequest(...HOME, number, { state: 'open' })).data.state,
    ).toBe('open')
  })

  it('reads what it changes', async () => {
    const { data: files } = await bob.repos.repoGetPullRequestFiles(...HOME, number, { limit: 10 })
    expect(files).toMatchObject([
      { filename: 'beds.txt', status: 'added', additions: 2, deletions: 0, changes: 2 },
    ])
    // Told of renames only.
    expect(misfits(types, 'ChangedFile[]', files)).toEqual([
      'ChangedFile[][0].previous_filename is missing',
    ])
    const { data: commits, headers } = await bob.repos.repoGetPullRequestCommits(...HOME, number)
    expect([commits.map(({ sha }) => sha), headers.get('x-hasmore')]).toEqual([[head], 'false'])
    expect(
      misfits(types, 'Commit[]', commits).filter((text) => !/stats|verification/.test(text)),
    ).toEqual([])
    const { data: diff } = await bob.repos.repoDownloadPullDiffOrPatch(
      ...HOME,
      number,
      'diff',
      {},
      { format: 'text' },
    )
    expect(diff).toContain('+tulips')
  })

  it('reviews it', async () => {
    const asked = await bob.repos.repoCreatePullReviewRequests(
      ...HOME,
      number,
      { reviewers: ['ada'] },
      JSON_BODY,
    )
    expect([asked.status, misfits(types, 'PullReview[]', asked.data)]).toEqual([201, []])
    expect(
      (
        await bob.repos.repoDeletePullReviewRequests(
          ...HOME,
          number,
          { reviewers: ['ada'] },
          JSON_BODY,
        )
      ).status,
    ).toBe(204)
    const { status, data: review } = await bob.repos.repoCreatePullReview(...HOME, number, {
      event: 'APPROVED',
      body: 'Lovely.',
      comments: [{ path: 'beds.txt', body: 'Red ones?', new_position: 1 }],
    })
    expect([status, review.state, review.comments_count, review.commit_id]).toEqual([
      200,
      'APPROVED',
      1,
      head,
    ])
    expect(misfits(types, 'PullReview', review)).toEqual([])
    const { data: comments } = await bob.repos.repoGetPullReviewComments(
      ...HOME,
      number,
      review.id ?? 0,
    )
    expect(comments).toMatchObject([{ body: 'Red ones?', path: 'beds.txt', position: 1 }])
    expect(misfits(types, 'PullReviewComment[]', comments)).toEqual([])
    const { data: reviews } = await carol.repos.repoListPullReviews(...HOME, number)
    expect(reviews.map(({ id }) => id)).toEqual([review.id])
    const own = carol.repos.repoCreatePullReview(...HOME, number, { event: 'APPROVED' })
    expect(await failure(own)).toMatchObject({ status: 422 })
    const dismissal = await bob.repos.repoDismissPullReview(...HOME, number, review.id ?? 0, {
      message: 'Not yet.',
    })
    expect([dismissal.status, dismissal.data.dismissed]).toEqual([200, true])
  })

  it('brings it up to date, and merges it', async () => {
    await bob.repos.repoCreateFile(...HOME, 'paths.txt', {
      content: content('gravel\n'),
      branch: 'main',
    })
    const update = await carol.repos.repoUpdatePullRequest(...HOME, number, { style: 'rebase' })
    expect(update.status).toBe(200)
    const unmerged = await failure(bob.repos.repoPullRequestIsMerged(...HOME, number))
    expect(unmerged).toMatchObject({ status: 404 })
    expect(await failure(bob.repos.repoCancelScheduledAutoMerge(...HOME, number))).toMatchObject({
      status: 404,
    })
    const merge = await bob.repos.repoMergePullRequest(...HOME, number, {
      Do: 'squash',
      MergeTitleField: 'Beds, at last',
      delete_branch_after_merge: false,
    })
    expect(merge.status).toBe(200)
    expect((await bob.repos.repoPullRequestIsMerged(...HOME, number)).status).toBe(204)
    const { data } = await bob.repos.repoGetPullRequest(...HOME, number)
    expect([data.merged, data.state, data.merged_by?.login]).toEqual([true, 'closed', 'bob'])
    expect(misfitsOf('PullRequest', data)).toEqual([])
    const { data: brought } = await bob.repos.repoGetCommitPullRequest(
      ...HOME,
      data.merge_commit_sha ?? '',
    )
    expect(brought.number).toBe(number)
    expect(
      await failure(bob.repos.repoMergePullRequest(...HOME, number, { Do: 'merge' })),
    ).toMatchObject({
      status: 405,
    })
  })
})

/** What does not fit, but for what is declared and left out where there is none of it. */
function misfitsOf(type: string, value: unknown): string[] {
  return misfits(types, type, value).filter(
    (text) => !/(\.repo\b.*|\.review_comments) is missing$/.test(text),
  )
}

/** Told of one, and not of those in a list. */
const COUNTED = /\.(additions|deletions|changed_files) is missing$/
