import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  CreatePersonalAccessTokenRequestSchema,
  type CreatePersonalAccessTokenResponse,
  CreatePersonalAccessTokenResponseSchema,
  DeletePersonalAccessTokenRequestSchema,
  ListPersonalAccessTokensRequestSchema,
  type ListPersonalAccessTokensResponse,
  ListPersonalAccessTokensResponseSchema,
  UserService,
} from '#gen/branchline/v1/user_service_pb.ts'
import { personalAccessTokenMethods } from '../../../../src/forge/accounts/users/user.service.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import { addUser, LOCAL_PEER, type TestApp, testApp } from '../../../support/app.ts'
import { callContext } from '../../../support/call.ts'

let app: TestApp
let ada: User

beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'Ada', { user_id: 'ada-1' })
})

function contextOf(method: (typeof UserService.methods)[number], user: User) {
  const caller = { kind: 'user', peer: LOCAL_PEER, user, credential: { kind: 'password' } } as const
  return callContext(method, { caller, owner: user })
}

async function createToken(
  input: MessageInitShape<typeof CreatePersonalAccessTokenRequestSchema> = {},
  user = ada,
): Promise<CreatePersonalAccessTokenResponse> {
  const context = contextOf(UserService.method.createPersonalAccessToken, user)
  const request = create(CreatePersonalAccessTokenRequestSchema, input)
  const answer = await personalAccessTokenMethods(app).createPersonalAccessToken(request, context)
  return create(CreatePersonalAccessTokenResponseSchema, answer)
}

async function list(
  input: MessageInitShape<typeof ListPersonalAccessTokensRequestSchema> = {},
  user = ada,
): Promise<ListPersonalAccessTokensResponse> {
  const context = contextOf(UserService.method.listPersonalAccessTokens, user)
  const request = create(ListPersonalAccessTokensRequestSchema, input)
  const answer = await personalAccessTokenMethods(app).listPersonalAccessTokens(request, context)
  return create(ListPersonalAccessTokensResponseSchema, answer)
}

async function deleteToken(name: string, user = ada): Promise<void> {
  const context = contextOf(UserService.method.deletePersonalAccessToken, user)
  const request = create(DeletePersonalAccessTokenRequestSchema, { name })
  await personalAccessTokenMethods(app).deletePersonalAccessToken(request, context)
}

describe('CreatePersonalAccessToken', () => {
  it('returns the token as in lists, and its text', async () => {
    const { personalAccessToken, token } = await createToken({
      description: 'ci',
      expiresInDays: 30,
    })
    expect(token).toMatch(/^branchline_pat_/)
    expect(personalAccessToken).toMatchObject({ description: 'ci', scopes: ['all'] })
    expect(personalAccessToken?.name).toMatch(
      /^users\/ada-1\/personalAccessTokens\/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/,
    )
    expect(
      personalAccessToken?.createdAt && timestampDate(personalAccessToken.createdAt).toISOString(),
    ).toBe('2026-05-01T10:00:00.000Z')
    expect(
      personalAccessToken?.expiresAt && timestampDate(personalAccessToken.expiresAt).toISOString(),
    ).toBe('2026-05-31T10:00:00.000Z')
    expect(personalAccessToken?.lastUsedAt).toBeUndefined()
    expect((await list()).personalAccessTokens).toEqual([personalAccessToken])
  })

  it('omits the expiry of a token that does not expire', async () => {
    expect((await createToken()).personalAccessToken?.expiresAt).toBeUndefined()
  })
})

describe('ListPersonalAccessTokens', () => {
  it('returns all pages, even if tokens are created or deleted in between', async () => {
    const made: string[] = []
    for (let i = 0; i < 5; i++) made.push((await createToken()).personalAccessToken?.name ?? '')
    const first = await list({ pageSize: 2 })
    expect(first.totalSize).toBe(5)
    await deleteToken(made[1] ?? '')
    const second = await list({ pageSize: 2, pageToken: first.nextPageToken })
    const third = await list({ pageSize: 1, pageToken: second.nextPageToken })
    expect(
      [first, second, third].flatMap((page) =>
        page.personalAccessTokens.map((token) => token.name),
      ),
    ).toEqual(made)
    expect(third.nextPageToken).toBe('')
    expect(third.totalSize).toBe(4)
  })

  it('refuses the page token of another account', async () => {
    for (let i = 0; i < 2; i++) await createToken()
    const { nextPageToken } = await list({ pageSize: 1 })
    await expect(
      list({ pageToken: nextPageToken }, await addUser(app, 'bob')),
    ).rejects.toMatchObject({
      reason: 'INVALID_PAGE_TOKEN',
    })
  })
})

describe('DeletePersonalAccessToken', () => {
  it('deletes a token once', async () => {
    const name = (await createToken()).personalAccessToken?.name ?? ''
    await deleteToken(name)
    await expect(deleteToken(name)).rejects.toMatchObject({
      reason: 'TOKEN_NOT_FOUND',
      metadata: { name },
    })
    expect((await list()).totalSize).toBe(0)
  })

  it("does not find the tokens of another account under the caller's name", async () => {
    const { personalAccessToken } = await createToken({}, await addUser(app, 'bob'))
    const name = personalAccessToken?.name.replace('users/bob', 'users/ada-1') ?? ''
    await expect(deleteToken(name)).rejects.toMatchObject({ reason: 'TOKEN_NOT_FOUND' })
  })

  it.each([
    ['users/ada-1'],
    ['users/ada-1/personalAccessTokens'],
    ['users/ada-1/personalAccessTokens/'],
    ['users/ada-1/personalAccessTokens/a/b'],
    ['users/ada-1/webhooks/a'],
    ['users/ada-1/personalAccessTokens/%2e'],
  ])('refuses the name %s', async (name) => {
    await expect(deleteToken(name)).rejects.toMatchObject({ reason: 'INVALID_NAME' })
  })
})
