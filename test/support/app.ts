import { pino } from 'pino'
import { createApp } from '../../src/app/server/app.ts'
import {
  createPasswordHasher,
  type PasswordCost,
} from '../../src/forge/accounts/credentials/passwords.ts'
import type { SessionClient } from '../../src/forge/accounts/credentials/sessions.ts'
import type { NewUser } from '../../src/forge/accounts/schema.ts'
import { claimNames, insertUser } from '../../src/forge/accounts/users/users.rows.ts'
import type { App } from '../../src/forge/app.ts'
import type { Peer } from '../../src/forge/core/access.ts'
import type { Clock, Settings } from '../../src/forge/core/core.ts'
import type { User } from '../../src/forge/core/schema.ts'
import { migrate } from '../../src/forge/migrations/index.ts'
import { transaction } from '../../src/platform/database/database.ts'
import { parseAllowedHosts } from '../../src/platform/outbound/allowed-hosts.ts'
import { createOutbound } from '../../src/platform/outbound/outbound.ts'
import { openTestDatabase } from './database.ts'
import { workerSpawner } from './process.ts'

/** A clock that stands still until it is moved. */
export interface TestClock extends Clock {
  advance(seconds: number): void
}

export interface TestApp extends App {
  readonly clock: TestClock
}

/** 1 May 2026, 10:00 UTC. */
const START_MS = Date.UTC(2026, 4, 1, 10)

/** The peer of every call that is not about peers. */
export const LOCAL_PEER: Peer = { address: '127.0.0.1', loopback: true }

/** The client of a session that is not about its client. */
export const NO_CLIENT: SessionClient = { userAgent: '', address: '' }

/**
 * The cost of the hashes of passwords in tests. Most tests need no safe hashes, and a hash of the default
 * cost takes 15 ms of a core.
 */
export const CHEAP_HASHES: PasswordCost = { memoryCost: 8, timeCost: 1 }

// Frozen, since all servers of a worker share the object.
export const NO_QUOTAS: Settings['quotas'] = Object.freeze({
  account: undefined,
  organization: undefined,
  repository: undefined,
  instance: undefined,
  defaultGroups: [],
})

const SETTINGS: Settings = {
  registration: 'open',
  passwordSignIn: true,
  basicPassword: true,
  minPasswordLength: 8,
  privateInstance: false,
  usernameChange: true,
  displayNameChange: true,
  statsBy: 'create',
  memoContentBytes: 8192,
  maxPushBytes: 64 * 1024 * 1024,
  maxAssetBytes: 64 * 1024 * 1024,
  maxAttachmentBytes: 1024 * 1024,
  attachmentTypes: ['*/*'],
  webhookRetryScheduleMs: [5_000, 300_000],
  mailFrom: undefined,
  defaultMergeStyle: 'merge',
  signing: true,
  wipPrefixes: ['WIP:', '[WIP]'],
  diffMaxLines: 1000,
  diffMaxLineCharacters: 5000,
  issueRate: 0,
  lfs: true,
  codeIndexBytes: 64 * 1024 ** 2,
  maxLfsBytes: 64 * 1024 * 1024,
  lfsLinkExpiryMs: 60 * 60_000,
  lfsPushCheck: true,
  lfsUnreferencedAfterMs: undefined,
  // Off, so that no test counts processes that another one has caused.
  refuseLfsPointers: false,
  maxFileBytes: undefined,
  quotas: NO_QUOTAS,
  maxRepositories: undefined,
  maintenance: false,
  maintenanceWindow: undefined,
  pruneAfterMs: undefined,
  limboMs: 14 * 24 * 60 * 60_000,
  gitHooks: false,
  hookTimeoutMs: 30_000,
  defaultPageSize: undefined,
  maxPageSize: undefined,
}

/**
 * An application over a database of its own, in memory.
 *
 * @param folder of the repositories. There are none without it: tests that need some bring their own.
 */
export async function testApp(
  settings: Partial<Settings> = {},
  overrides: Partial<Omit<App, 'clock' | 'settings'>> = {},
  folder = '/nonexistent',
): Promise<TestApp> {
  const clock = testClock()
  const db = overrides.db ?? (await openTestDatabase())
  await migrate(db)
  const app = await createApp({
    db,
    folder,
    settings: { ...SETTINGS, ...settings },
    log: pino({ level: 'silent' }),
    publicUrl: () => 'https://git.example.org',
    passwords: createPasswordHasher(CHEAP_HASHES),
    outbound: createOutbound({
      allowedHosts: parseAllowedHosts('127.0.0.1'),
      ownAddresses: () => [],
    }),
    ...overrides,
    clock,
  })
  app.git.processes.spawner = workerSpawner()
  return { ...app, ...overrides, clock }
}

export function testClock(): TestClock {
  let now = START_MS
  return {
    now: () => now,
    advance(seconds) {
      now += seconds * 1000
    },
  }
}

/** The password of every account that `addUser` makes. */
export const PASSWORD = 'correct horse'

/** Stores an account, an active one of role USER unless `fields` says otherwise. */
export async function addUser(
  app: App,
  username: string,
  fields: Partial<NewUser> = {},
): Promise<User> {
  const now = Math.floor(app.clock.now() / 1000)
  const password_hash = await app.passwords.hash(PASSWORD, 'server')
  return transaction(app.db, async (tx) => {
    const user = await insertUser(tx, {
      user_id: null,
      username,
      email: '',
      email_key: '',
      display_name: '',
      avatar_url: '',
      description: '',
      password_hash,
      role: 'USER',
      state: 'NORMAL',
      create_time: now,
      update_time: now,
      ...fields,
    })
    const names = [user.username, user.user_id ?? user.username].map((name) => name.toLowerCase())
    await claimNames(tx, user.id, new Set(names))
    return user
  })
}
