import { create, toBinary } from '@bufbuild/protobuf'
import { expect, it } from 'vitest'
import { RefreshTokenRequestSchema } from '#gen/branchline/v1/auth_service_pb.ts'
import { GetConversationRequestSchema } from '#gen/branchline/v1/conversation_service_pb.ts'
import { GetPullRequestDiffRequestSchema } from '#gen/branchline/v1/pull_file_service_pb.ts'
import { GetRepositoryRequestSchema } from '#gen/branchline/v1/repository_service_pb.ts'
import { firstCallsOf, REFRESH } from '../../src/web/first-calls/first-calls.ts'
import { routeOf } from '../../src/web/routes.ts'

const callsOf = (path: string) => {
  const route = routeOf(new URL(path, 'http://localhost'))
  return (route ? firstCallsOf(route) : []).map(({ path, request, isStream }) => [
    path.split('/').at(-1),
    [...request],
    isStream,
  ])
}
const name = { owner: 'bob', repo: 'grüner-garten'.repeat(12) }
const repository = [
  'GetRepository',
  [...toBinary(GetRepositoryRequestSchema, create(GetRepositoryRequestSchema, name))],
  false,
]
const conversation = [
  'GetConversation',
  [
    ...toBinary(
      GetConversationRequestSchema,
      create(GetConversationRequestSchema, { ...name, index: 12_345_678n }),
    ),
  ],
  false,
]
const diff = [
  'GetPullRequestDiff',
  [
    ...toBinary(
      GetPullRequestDiffRequestSchema,
      create(GetPullRequestDiffRequestSchema, { ...name, index: 12_345_678n, format: 'diff' }),
    ),
  ],
  true,
]
const base = `/bob/${encodeURIComponent(name.repo)}`

it.each([
  [base, [repository]],
  [`${base}/issues?q=is:open`, [repository]],
  [`${base}/issues/12345678`, [conversation]],
  [`${base}/pulls/12345678`, [conversation]],
  [`${base}/pulls/12345678/commits`, [conversation]],
  [`${base}/pulls/12345678/files`, [conversation, diff]],
  [`${base}/pulls/12345678/files?since=${'a'.repeat(40)}`, [conversation]],
  [`${base}/pulls/0`, []],
  [`${base}/pulls/none`, []],
  [`${base}/settings`, []],
  ['/bob', []],
  ['/', []],
])('the document of %s begins the calls that the page sends', (path, calls) => {
  expect(callsOf(path)).toEqual(calls)
})

it('the document begins the session as the page does', () => {
  const request = create(RefreshTokenRequestSchema, { includeUser: true })
  expect([...REFRESH.request]).toEqual([...toBinary(RefreshTokenRequestSchema, request)])
})
