import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { openForge } from '../../support/forge.ts'
import { type GitUpstream, startGitUpstream } from '../../support/git-upstream.ts'
import { type ApiAnswers, apiOf, pageOf, settledImport } from '../../support/imports.ts'

const { server, users, rest } = await openForge({
  webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
})
let upstream: GitUpstream
let base: string
let head: string

beforeEach(async () => {
  upstream = await startGitUpstream()
  base = upstream.commit('main', 'first')
  upstream.git('update-ref', 'refs/heads/topic', base)
  head = upstream.commit('topic', 'change')
})
afterEach(() => upstream.stop())

async function importAs(service: string, name: string) {
  const { status, body } = await rest(users.bob, 'POST', '/repos/migrate', {
    clone_addr: upstream.url,
    repo_name: name,
    service,
    auth_token: 'secret-token',
    ...{ labels: true, milestones: true, issues: true, pull_requests: true, releases: true },
  })
  expect([status, body.message]).toEqual([201, undefined])
  const path = `/repos/bob/${name}`
  const done = await settledImport(server.app, rest, users.bob, path)
  const read = async (rest_: string) => (await rest(users.bob, 'GET', path + rest_)).body
  return { done, read }
}

const TIMES = { created_at: '2024-01-02T03:04:05Z', updated_at: '2024-01-03T03:04:05Z' }

describe('an import from GitHub', () => {
  const UMA = { id: 7, login: 'uma' }
  const issue = (number: number, fields: object = {}) => ({
    id: 100 + number,
    number,
    title: `Number ${number}`,
    body: null,
    state: 'open',
    user: UMA,
    labels: [],
    comments: 0,
    reactions: { total_count: 0 },
    ...TIMES,
    ...fields,
  })
  const closed = { state: 'closed', closed_at: '2024-01-03T00:00:00Z' }
  const first = issue(1, {
    ...closed,
    state_reason: 'not_planned',
    labels: [{ name: 'bug' }],
    milestone: { title: 'v1' },
    comments: 2,
    locked: true,
    active_lock_reason: 'resolved',
  })
  const comments = [1, 2].map((id) => ({ id, body: `Comment ${id}`, user: UMA, ...TIMES }))

  const answers = (): ApiAnswers => {
    const repo = { id: 1 }
    const pull = issue(2, {
      draft: true,
      head: { ref: 'topic', sha: head, repo },
      base: { ref: 'main', sha: base, repo },
    })
    return {
      '/repos/uma/engine': () => ({ body: { full_name: 'uma/engine' } }),
      '/repos/uma/engine/labels': (query) =>
        pageOf([{ id: 1, name: 'bug', color: 'AA0000', description: null }], query, 1),
      '/repos/uma/engine/milestones': (query) =>
        pageOf([{ id: 1, number: 1, title: 'v1', state: 'open', ...TIMES }], query, 1),
      '/repos/uma/engine/issues': (query) =>
        pageOf([first, issue(2, { pull_request: {} })], query, 1),
      '/repos/uma/engine/issues/1/comments': (query) => pageOf(comments, query, 1),
      '/repos/uma/engine/issues/2': () => ({ body: issue(2, { pull_request: {} }) }),
      '/repos/uma/engine/pulls': (query) => pageOf([pull], query, 1),
      '/repos/uma/engine/pulls/2/reviews': (query) =>
        pageOf(
          [
            {
              id: 5,
              user: UMA,
              state: 'CHANGES_REQUESTED',
              body: 'Not yet',
              commit_id: head,
              submitted_at: TIMES.created_at,
            },
          ],
          query,
          1,
        ),
      '/repos/uma/engine/pulls/2/comments': (query) =>
        pageOf(
          [
            {
              id: 6,
              pull_request_review_id: 5,
              user: UMA,
              body: 'Why?',
              path: 'a.txt',
              side: 'RIGHT',
              line: 3,
              original_commit_id: head,
              diff_hunk: '@@ -0,0 +1,3 @@',
              ...TIMES,
            },
          ],
          query,
          1,
        ),
      '/repos/uma/engine/releases': (query) => pageOf([], query, 1),
    }
  }

  it('keeps issues, pull requests and reviews', async () => {
    upstream.intercept = apiOf('/api/v3', answers())
    const { done, read } = await importAs('github', 'hub')
    expect(done).toMatchObject({ state: 'SUCCEEDED', errors: [] })
    expect(await read('/issues/1')).toMatchObject({
      state: 'closed',
      state_reason: 'not_planned',
      is_locked: true,
      comments: 2,
      original_author: 'uma',
      original_author_id: 7,
      milestone: { title: 'v1' },
      labels: [{ name: 'bug', color: 'aa0000' }],
    })
    expect(await read('/issues/1/comments')).toMatchObject([
      { body: 'Comment 1' },
      { body: 'Comment 2' },
    ])
    expect(await read('/pulls/2')).toMatchObject({
      title: 'WIP: Number 2',
      draft: true,
      head: { ref: 'topic', sha: head },
      merge_base: base,
    })
    const [review] = await read('/pulls/2/reviews')
    expect(review).toMatchObject({ state: 'REQUEST_CHANGES', body: 'Not yet', comments_count: 1 })
    expect(await read(`/pulls/2/reviews/${review.id}/comments`)).toMatchObject([
      { body: 'Why?', path: 'a.txt', position: 3, original_author: 'uma' },
    ])
  })
})

describe('an import from GitLab', () => {
  const UMA = { id: 7, username: 'uma', name: 'Uma' }
  const issue = (iid: number, fields: object = {}) => ({
    id: 100 + iid,
    iid,
    title: `Issue ${iid}`,
    description: '',
    state: 'opened',
    author: UMA,
    labels: [],
    user_notes_count: 0,
    ...TIMES,
    ...fields,
  })
  const issues = [
    issue(1, { description: 'See !1, not `!1`', labels: ['area::api'], due_date: '2030-01-02' }),
    issue(2, { confidential: true }),
    issue(3, { state: 'closed', closed_at: '2024-01-03T00:00:00Z', user_notes_count: 2 }),
  ]
  const project = '/projects/uma%2Fengine'

  const answers = (): ApiAnswers => {
    const merge = {
      ...issue(1, { title: 'Merge it', description: 'Fixes #1' }),
      id: 900,
      sha: head,
      diff_refs: { base_sha: base, head_sha: head, start_sha: base },
      source_branch: 'topic',
      target_branch: 'main',
      source_project_id: 1,
      target_project_id: 1,
    }
    const note = { id: 11, author: UMA, body: 'Line', resolved: true, ...TIMES }
    return {
      [project]: () => ({ body: { path_with_namespace: 'uma/engine' } }),
      [`${project}/labels`]: (query) =>
        pageOf([{ id: 1, name: 'area::api', color: '#AA0000' }], query, 1),
      [`${project}/milestones`]: (query) => pageOf([], query, 1),
      [`${project}/issues`]: (query) =>
        pageOf(query.get('sort') === 'desc' ? issues.toReversed() : issues, query, 2),
      [`${project}/issues/1/award_emoji`]: (query) => pageOf([], query, 1),
      [`${project}/issues/3/award_emoji`]: (query) =>
        pageOf([{ id: 1, name: 'thumbsup', user: UMA }], query, 1),
      [`${project}/issues/3/notes`]: (query) =>
        pageOf(
          [
            { id: 1, system: false, body: 'Said', author: UMA, ...TIMES },
            { id: 2, system: true, body: 'closed', author: UMA, ...TIMES },
            { id: 3, internal: true, body: 'Secret', author: UMA, ...TIMES },
          ],
          query,
          2,
        ),
      [`${project}/merge_requests`]: (query) => pageOf([merge], query, 1),
      [`${project}/merge_requests/1`]: () => ({ body: merge }),
      [`${project}/merge_requests/1/award_emoji`]: (query) => pageOf([], query, 1),
      [`${project}/merge_requests/1/approvals`]: () => ({ body: { approved_by: [{ user: UMA }] } }),
      [`${project}/merge_requests/1/discussions`]: (query) =>
        pageOf(
          [
            {
              id: 'a',
              notes: [{ ...note, position: { new_path: 'a.txt', new_line: 2, head_sha: head } }],
            },
            { id: 'b', notes: [{ ...note, id: 12, body: 'General' }] },
          ],
          query,
          1,
        ),
      [`${project}/releases`]: (query) => pageOf([], query, 1),
    }
  }

  it('counts merge requests after the issues, and leaves out what others may not read', async () => {
    upstream.intercept = apiOf('/api/v4', answers())
    const { done, read } = await importAs('gitlab', 'lab')
    expect(done.state).toBe('SUCCEEDED')
    expect(done.errors).toEqual([
      { kind: 'issues', ref: '#2', message: 'the issue is confidential' },
      { kind: 'issues', ref: '#3', message: '1 × reaction +1' },
    ])
    expect(await read('/issues/1')).toMatchObject({
      body: 'See #4, not `!1`',
      labels: [{ name: 'area::api' }],
      due_date: '2030-01-02T23:59:59Z',
    })
    expect(await read('/issues/3/comments')).toMatchObject([{ body: 'Said' }])
    expect(await read('/pulls/4')).toMatchObject({
      title: 'Merge it',
      body: 'Fixes #1',
      head: { sha: head },
      merge_base: base,
    })
    expect(await read('/issues/4/comments')).toMatchObject([{ body: 'General' }])
    const reviews = await read('/pulls/4/reviews')
    expect(reviews).toMatchObject([{ state: 'COMMENT' }, { state: 'APPROVED', official: false }])
    expect(await read(`/pulls/4/reviews/${reviews[0].id}/comments`)).toMatchObject([
      { body: 'Line', path: 'a.txt', position: 2 },
    ])
  })
})
