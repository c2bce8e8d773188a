import { EventEmitter, once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import type { PasswordHasher } from '../../src/forge/accounts/ports.ts'
import { currentDeadline } from '../../src/platform/concurrency/call-deadlines.ts'
import { transaction } from '../../src/platform/database/database.ts'
import { isOnPostgres } from '../support/database.ts'
import { openForge } from '../support/forge.ts'
import { type JsonForm, type JsonOutcome, UNARY_JSON_FORMS } from '../support/json-forms.ts'
import { PASSWORD } from '../support/server.ts'

/** Whether changes take as long as their call has time. */
let holdsUp = false

const { server, users } = await openForge()
beforeAll(async () => {
  const inserts = new WeakSet<object>()
  const db = server.app.db.withPlugin({
    transformQuery({ node, queryId }) {
      if (node.kind === 'InsertQueryNode') inserts.add(queryId)
      return node
    },
    async transformResult({ result, queryId }) {
      const deadline = currentDeadline()
      if (holdsUp && deadline && inserts.has(queryId))
        await setTimeout(Math.ceil(deadline.remainingMs()) + 5)
      return result
    },
  })
  const { passwords } = server.app
  const late: PasswordHasher = {
    ...passwords,
    async verify(...args) {
      const remainingMs = currentDeadline()?.remainingMs() ?? LONG_MS
      if (remainingMs < LONG_MS) await setTimeout(Math.ceil(remainingMs) + 5)
      return passwords.verify(...args).finally(() => checked.emit('end'))
    },
  }
  Object.assign(server.app, { db, passwords: late })
})

/** A check of a password with less time than this takes longer than that time. */
const LONG_MS = 1_000

/** Hears of the end of each check of a password. */
const checked = new EventEmitter()

/** A call of an RPC by its name, its request, and a timeout in milliseconds. */
type Call = (rpc: string, request: object, timeoutMs: number) => Promise<JsonOutcome>

const rpcCall =
  (form: JsonForm, timeout: (timeoutMs: number) => Record<string, string>): Call =>
  (rpc, request, timeoutMs) =>
    form(server.url, `/branchline.v1.${rpc}`, JSON.stringify(request), {
      authorization: users.bob.authorization,
      ...timeout(timeoutMs),
    })

const REST_PATHS: ReadonlyMap<string, string> = new Map([
  ['AuthService/SignIn', '/api/v1/auth/signin'],
  ['MemoService/CreateMemo', '/api/v1/memos'],
])

const overRest =
  (timeout: (timeoutMs: number) => Record<string, string>): Call =>
  async (rpc, request, timeoutMs) => {
    const { memo, memoId, ...rest } = request as { memo?: object; memoId?: string }
    const query = memoId === undefined ? '' : `?memoId=${memoId}`
    const answer = await fetch(`${server.url}${REST_PATHS.get(rpc)}${query}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: users.bob.authorization,
        ...timeout(timeoutMs),
      },
      body: JSON.stringify(memo ?? rest),
    })
    const content = (await answer.json()) as {
      code?: number
      details?: { '@type': string; reason: string; metadata?: Record<string, string> }[]
    }
    const info = content.details?.find((detail) => detail['@type'].endsWith('ErrorInfo'))
    if (!answer.ok) expect([content.code, answer.status]).toEqual([4, 504])
    const code = answer.ok ? 0 : (content.code ?? 0)
    return { code, reason: info?.reason, metadata: info?.metadata, message: content }
  }

const grpcTimeout = (timeoutMs: number) => ({ 'grpc-timeout': `${timeoutMs}m` })
const connectTimeout = (timeoutMs: number) => ({ 'connect-timeout-ms': String(timeoutMs) })
const CALLS: readonly (readonly [string, Call])[] = [
  ...Array.from(UNARY_JSON_FORMS, ([name, form]) => {
    return [name, rpcCall(form, name === 'Connect' ? connectTimeout : grpcTimeout)] as const
  }),
  ['REST', overRest((timeoutMs) => ({ 'x-server-timeout': String(timeoutMs / 1000) }))],
  ['REST, by the header of gRPC', overRest(grpcTimeout)],
]

const PASSED = { code: 4, reason: 'DEADLINE_EXCEEDED' }
const credentials = { passwordCredentials: { username: 'carol', password: PASSWORD } }

async function countSessions(): Promise<number> {
  await server.app.background.settled()
  return (await server.app.db.selectFrom('sessions').select('id').execute()).length
}

/** SQLite has one writer, and PostgreSQL as many as a server has connections. */
const WRITERS = isOnPostgres ? 10 : 1

/** Lets nobody else change anything until it is released. */
async function holdDatabase(): Promise<() => Promise<void>> {
  const releases = await Promise.all(Array.from({ length: WRITERS }, holdWriter))
  return async () => {
    await Promise.all(releases.map((release) => release()))
  }
}

async function holdWriter(): Promise<() => Promise<void>> {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let hold = () => {}
  const held = new Promise<void>((resolve) => {
    hold = resolve
  })
  const done = transaction(server.app.db, async () => {
    hold()
    await released
  })
  await held
  return () => {
    release()
    return done
  }
}

describe.each(CALLS)('a deadline over %s', (_, call) => {
  it('that passes during a password check starts no session', async () => {
    const before = await countSessions()
    const end = once(checked, 'end')
    expect(await call('AuthService/SignIn', credentials, 100)).toMatchObject(PASSED)
    await end
    expect(await call('AuthService/SignIn', credentials, 60_000)).toMatchObject({ code: 0 })
    expect(await countSessions()).toBe(before + 1)
  })

  it('that passes while the database is busy prevents the change', async () => {
    const memoId = crypto.randomUUID()
    const release = await holdDatabase()
    const late = call('MemoService/CreateMemo', { memo: { content: 'late' }, memoId }, 50)
    const outcome = await late
    await release()
    expect(outcome).toMatchObject(PASSED)
    expect(outcome.metadata ?? {}).toEqual({})
    // Transactions begin one after another, so that it was the turn of the late one before.
    await transaction(server.app.db, async () => undefined)
    expect(
      await server.app.db.selectFrom('memos').select('id').where('uid', '=', memoId).execute(),
    ).toEqual([])
  })

  it('that passes during a change reports that the change was made', async () => {
    const memoId = crypto.randomUUID()
    holdsUp = true
    const outcome = await call(
      'MemoService/CreateMemo',
      { memo: { content: 'made' }, memoId },
      1_000,
    )
    holdsUp = false
    expect(outcome).toMatchObject({ ...PASSED, metadata: { committed: 'true' } })
    expect(
      await server.app.db.selectFrom('memos').select('content').where('uid', '=', memoId).execute(),
    ).toEqual([{ content: 'made' }])
  })

  it('that has not passed does not affect the response', async () => {
    const memoId = crypto.randomUUID()
    const outcome = await call(
      'MemoService/CreateMemo',
      { memo: { content: 'in time' }, memoId },
      60_000,
    )
    expect(outcome).toMatchObject({ code: 0, message: { name: `memos/${memoId}` } })
  })
})
