import { beforeEach, describe, expect, it } from 'vitest'
import {
  authenticateBasic,
  authenticateBearer,
} from '../../../../src/forge/accounts/credentials/credentials.ts'
import {
  createPersonalAccessToken,
  deletePersonalAccessToken,
} from '../../../../src/forge/accounts/credentials/personal-access-tokens.ts'
import { reauthenticate } from '../../../../src/forge/accounts/credentials/reauthentication.ts'
import { endSession, startSession } from '../../../../src/forge/accounts/credentials/sessions.ts'
import type { UserChanges } from '../../../../src/forge/accounts/schema.ts'
import { deleteUser, updateUser } from '../../../../src/forge/accounts/users/users.rows.ts'
import type { SignedIn } from '../../../../src/forge/core/access.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import {
  addUser,
  LOCAL_PEER,
  NO_CLIENT,
  PASSWORD,
  type TestApp,
  testApp,
} from '../../../support/app.ts'

const DAY_SECONDS = 24 * 60 * 60
const BAD_CREDENTIALS = expect.objectContaining({ reason: 'BAD_CREDENTIALS' })

let app: TestApp
let ada: User
beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'ada')
})

/** A caller for each kind of credential. */
const callers = {
  session: async () => {
    const { accessToken } = await startSession(app, ada, NO_CLIENT)
    return authenticateBearer(app, LOCAL_PEER, accessToken)
  },
  token: async () => {
    const session = await callers.session()
    const { text } = await createPersonalAccessToken(app, session, {
      description: '',
      expiresInDays: 2,
      scopes: [],
    })
    return authenticateBearer(app, LOCAL_PEER, text)
  },
  password: async () => {
    const caller = await authenticateBasic(
      app,
      LOCAL_PEER,
      { username: 'ada', password: PASSWORD },
      '',
    )
    return caller as SignedIn
  },
}
type Kind = keyof typeof callers

function change(changes: UserChanges) {
  return transaction(app.db, (tx) => updateUser(tx, ada.id, changes))
}

describe('the caller of a long-running call', () => {
  it.each(['session', 'token', 'password'] as const)(
    'remains authenticated by %s, with the current row of the account',
    async (kind) => {
      const caller = await callers[kind]()
      await change({ username: 'lovelace' })
      const now = await reauthenticate(app, caller)
      expect(now).toMatchObject({ user: { username: 'lovelace' }, credential: caller.credential })
    },
  )

  it('remains authenticated after the access token expires, if the session continues', async () => {
    const caller = await callers.session()
    app.clock.advance(DAY_SECONDS)
    expect(await reauthenticate(app, caller)).toMatchObject({ user: { id: ada.id } })
  })

  it.each<[string, Kind, (caller: SignedIn) => unknown]>([
    [
      'its session has ended',
      'session',
      ({ credential }) => credential.kind === 'session' && endSession(app, credential.sessionId),
    ],
    ['its session has expired', 'session', () => app.clock.advance(30 * DAY_SECONDS)],
    [
      'its token was deleted',
      'token',
      ({ credential }) =>
        credential.kind === 'token' && deletePersonalAccessToken(app, ada, credential.uuid),
    ],
    ['its token has expired', 'token', () => app.clock.advance(2 * DAY_SECONDS)],
    ['the password was changed', 'session', () => change({ token_version: 2 })],
    ['the password was changed', 'password', () => change({ token_version: 2 })],
    ['the account was archived', 'session', () => change({ state: 'ARCHIVED' })],
    ['the account was archived', 'token', () => change({ state: 'ARCHIVED' })],
    ['the account was archived', 'password', () => change({ state: 'ARCHIVED' })],
    [
      'the account was deleted',
      'session',
      () => transaction(app.db, (tx) => deleteUser(tx, ada.id)),
    ],
    ['the account was deleted', 'token', () => transaction(app.db, (tx) => deleteUser(tx, ada.id))],
    [
      'the account was deleted',
      'password',
      () => transaction(app.db, (tx) => deleteUser(tx, ada.id)),
    ],
  ])('is refused when %s, by %s', async (_, kind, happen) => {
    const caller = await callers[kind]()
    await happen(caller)
    await expect(reauthenticate(app, caller)).rejects.toEqual(BAD_CREDENTIALS)
  })

  it('remains authenticated by a token after a password change, as in a new call', async () => {
    const caller = await callers.token()
    await change({ token_version: 2 })
    expect(await reauthenticate(app, caller)).toMatchObject({ user: { id: ada.id } })
  })
})
