import { describe, expect, it } from 'vitest'
import { loadInstanceKeys } from '../../../../src/forge/accounts/credentials/instance-keys.ts'
import {
  authenticateAccessToken,
  startSession,
} from '../../../../src/forge/accounts/credentials/sessions.ts'
import { addUser, NO_CLIENT, testApp } from '../../../support/app.ts'

describe('loadInstanceKeys', () => {
  it('returns the same keys at each start, even if two processes start at once', async () => {
    const app = await testApp()
    const { accessToken } = await startSession(app, await addUser(app, 'ada'), NO_CLIENT)
    const [one, two] = await Promise.all([
      loadInstanceKeys(app.db, app.clock),
      loadInstanceKeys(app.db, app.clock),
    ])
    expect(two.derive('page-tokens')).toEqual(one.derive('page-tokens'))
    await expect(authenticateAccessToken({ ...app, keys: one }, accessToken)).resolves.toBeDefined()
  })

  it('derives different 256-bit keys for each instance and purpose, and never the secret', async () => {
    const [app, other] = await Promise.all([testApp(), testApp()])
    const { secret } = await app.db
      .selectFrom('instance_keys')
      .select('secret')
      .executeTakeFirstOrThrow()
    expect(secret).toHaveLength(32)
    const keys = [app.keys.derive('one'), app.keys.derive('two'), other.keys.derive('one'), secret]
    expect(new Set(keys.map((key) => key.toString('hex'))).size).toBe(4)
    expect(app.keys.derive('one')).toHaveLength(32)
    expect(app.keys.tokenKey.extractable).toBe(false)
  })
})
