import { pino } from 'pino'
import { createGuessLimits } from '../../src/domain/accounts/credentials/guess-limits.ts'
import { loadInstanceKeys } from '../../src/domain/accounts/credentials/instance-keys.ts'
import { createResetRequests } from '../../src/domain/accounts/credentials/password-resets.ts'
import { createPasswordHasher } from '../../src/domain/accounts/credentials/passwords.ts'
import { createOAuth2Client } from '../../src/domain/accounts/sign-on/oauth2.ts'
import type { App } from '../../src/domain/app.ts'
import type { Peer } from '../../src/domain/core/access.ts'
import { createBackground } from '../../src/domain/core/background.ts'
import { createCoordination } from '../../src/domain/core/coordination.ts'
import type { Clock, Settings } from '../../src/domain/core/core.ts'
import { createSignal } from '../../src/domain/core/signal.ts'
import { parseAllowedHosts } from '../../src/domain/outbound/allowed-hosts.ts'
import { createOutbound } from '../../src/domain/outbound/outbound.ts'
import { pullRefObserver } from '../../src/domain/pulls/branch-sync/ref-observer.ts'
import { createMergeChecks } from '../../src/domain/pulls/merging/mergeability.ts'
import { createCopyPlaces } from '../../src/domain/repos/lifecycle/copy-places.ts'
import { createCommitSigning } from '../../src/domain/repos/reading/commit-signing.ts'
import { createSignatureChecks } from '../../src/domain/repos/reading/commit-verification.ts'
import { repositoriesIn } from '../../src/git/repositories/repositories.ts'
import { claimNames, insertUser } from '../../src/storage/accounts/users.ts'
import { openDatabase, transaction } from '../../src/storage/database/database.ts'
import { migrate } from '../../src/storage/database/migrate.ts'
import type { NewUser, User } from '../../src/storage/schema/accounts.ts'
import { createPayloads } from '../../src/transport/payloads.ts'

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
  webhookRetryScheduleMs: [5_000, 300_000],
  defaultMergeStyle: 'merge',
  signing: true,
  wipPrefixes: ['WIP:', '[WIP]'],
  diffMaxLines: 1000,
  diffMaxLineCharacters: 5000,
  gitHooks: false,
  hookTimeoutMs: 30_000,
  defaultPageSize: undefined,
  maxPageSize: undefined,
}

/** An application over a database of its own, in memory. */
export async function testApp(
  settings: Partial<Settings> = {},
  overrides: Partial<Omit<App, 'clock' | 'settings'>> = {},
): Promise<TestApp> {
  const clock = testClock()
  const db = overrides.db ?? openDatabase(':memory:')
  await migrate(db)
  const log = overrides.log ?? pino({ level: 'silent' })
  const keys = await loadInstanceKeys(db, clock)
  const outbound = createOutbound({
    allowedHosts: parseAllowedHosts('127.0.0.1'),
    ownAddresses: () => [],
  })
  return {
    db,
    // Nothing is there: tests that need repositories bring their own.
    git: repositoriesIn('/nonexistent'),
    attachments: { folder: '/nonexistent' },
    log,
    keys,
    commitSigning: createCommitSigning(keys),
    refObservers: [pullRefObserver],
    mergeChecks: createMergeChecks(),
    runningUpdates: new Map(),
    sizeMeasurements: new Map(),
    passwords: createPasswordHasher(),
    guesses: createGuessLimits(clock),
    background: createBackground(log),
    coordination: createCoordination(),
    signals: {
      deliveries: createSignal(),
      events: createSignal(),
      mirrors: createSignal(),
      pullHeads: createSignal(),
      autoMerges: createSignal(),
      mergeFollowUps: createSignal(),
      repositoryEvents: createSignal(),
    },
    copies: createCopyPlaces(),
    signatureChecks: createSignatureChecks(),
    payloads: createPayloads(),
    outbound,
    oauth2: createOAuth2Client({ outbound, userAgent: 'branchline/test' }),
    mail: undefined,
    resetRequests: createResetRequests(),
    publicUrl: () => 'https://git.example.org',
    ...overrides,
    clock,
    settings: { ...SETTINGS, ...settings },
  }
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
  const password_hash = await app.passwords.hash(PASSWORD)
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
