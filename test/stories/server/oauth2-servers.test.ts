import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askBy } from '../../support/forge.ts'
import { GROUP_KINDS } from '../../support/group-kinds.ts'
import {
  askToken,
  authorize,
  CALLBACK,
  type Client,
  register,
  tokensOf,
} from '../../support/oauth-clients.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, type TestUsers } from '../../support/server.ts'
import type { GroupServer, ServerGroup } from '../../support/server-group.ts'

/** Starting two servers takes seconds on a busy machine. */
const TIMEOUT_MS = 180_000

/** Times that each race is run. Which of the two comes first differs. */
const ROUNDS = 5

describe.each(GROUP_KINDS)(
  'OAuth 2.0 with $title',
  { timeout: TIMEOUT_MS },
  ({ missing, start }) => {
    if (missing !== undefined) {
      it.skip(missing, () => {})
      return
    }
    let group: ServerGroup<GroupServer>
    let users: TestUsers
    let client: Client
    let left: string
    let right: string

    beforeAll(async () => {
      group = await start(2)
      ;[left = '', right = ''] = group.servers.map(({ url }) => url)
      users = await createTestUsers(left)
      client = await register({ ask: askBy(restAt(left)) }, users.ada)
    }, TIMEOUT_MS)
    afterAll(() => group.stop(), TIMEOUT_MS)

    const codeAt = async (url: string) => {
      const asked = { client_id: client.client_id, redirect_uri: CALLBACK, state: 's' }
      return (await authorize(url, 'bob', asked)).get('code') ?? ''
    }
    const redeem = (url: string, code: string) =>
      askToken(url, client, { grant_type: 'authorization_code', code, redirect_uri: CALLBACK })
    const refresh = (url: string, refresh_token: string) =>
      askToken(url, client, { grant_type: 'refresh_token', refresh_token })
    const statusAt = async (url: string, token: string) =>
      (await restAt(url)({ authorization: `Bearer ${token}` }, 'GET', '/user')).status

    it('a code of one server is redeemed at the other, and its tokens work at both', async () => {
      const { status, body } = await redeem(right, await codeAt(left))
      expect(status).toBe(200)
      expect(await statusAt(left, body.access_token)).toBe(200)
      expect(await statusAt(right, body.access_token)).toBe(200)
    })

    it('the second use of a code at the other server ends the tokens of the first at both', async () => {
      const code = await codeAt(right)
      const { body } = await redeem(left, code)
      expect(await statusAt(left, body.access_token)).toBe(200)
      expect((await redeem(right, code)).body.error).toBe('invalid_grant')
      expect(await statusAt(left, body.access_token)).toBe(401)
      expect(await statusAt(right, body.access_token)).toBe(401)
      expect((await refresh(left, body.refresh_token)).body.error).toBe('invalid_grant')
    })

    it('a code that both servers redeem at the same time gives tokens once, which are ended', async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const code = await codeAt(left)
        const answers = await Promise.all([redeem(left, code), redeem(right, code)])
        expect(answers.map(({ status }) => status).sort()).not.toEqual([200, 200])
        for (const { status, body } of answers) {
          if (status === 200) expect(await statusAt(right, body.access_token)).toBe(401)
          else expect([status, body.error]).toEqual([400, 'invalid_grant'])
        }
      }
    })

    it('a refresh token that both servers exchange at the same time has one successor', async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const { refresh_token } = await tokensOf(left, 'bob', client)
        const answers = await Promise.all([
          refresh(left, refresh_token),
          refresh(right, refresh_token),
        ])
        expect(answers.map(({ status }) => status)).toEqual([200, 200])
        expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1)
        for (const { body } of answers) expect(await statusAt(left, body.access_token)).toBe(200)
      }
    })

    it('the use of an old refresh token at the other server ends everything at both', async () => {
      const first = await tokensOf(left, 'bob', client)
      const { body: second } = await refresh(right, first.refresh_token)
      const { body: third } = await refresh(left, second.refresh_token)
      expect(await statusAt(right, third.access_token)).toBe(200)
      expect((await refresh(right, first.refresh_token)).body.error).toBe('invalid_grant')
      expect(await statusAt(left, third.access_token)).toBe(401)
      expect(await statusAt(right, third.access_token)).toBe(401)
      expect((await refresh(left, third.refresh_token)).body.error).toBe('invalid_grant')
    })

    it('a grant that its user ends at one server is ended at the other', async () => {
      const { access_token } = await tokensOf(left, 'bob', client)
      const rest = restAt(right)
      const { body: grants } = await rest(users.bob, 'GET', '/user/grants/oauth2')
      expect(grants.length).toBeGreaterThan(0)
      for (const { id } of grants) await rest(users.bob, 'DELETE', `/user/grants/oauth2/${id}`)
      expect(await statusAt(left, access_token)).toBe(401)
      expect(await statusAt(right, access_token)).toBe(401)
    })
  },
)
