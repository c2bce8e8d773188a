import type { Logger } from 'pino'
import { createGuessLimits, SharedFailures } from '../../forge/accounts/credentials/guess-limits.ts'
import { loadInstanceKeys } from '../../forge/accounts/credentials/instance-keys.ts'
import { createResetRequests } from '../../forge/accounts/credentials/password-resets.ts'
import { createPasswordHasher } from '../../forge/accounts/credentials/passwords.ts'
import { createOAuth2Client } from '../../forge/accounts/sign-on/oauth2.ts'
import type { App } from '../../forge/app.ts'
import { newLabels } from '../../forge/conversations/labels.ts'
import {
  type Coordination,
  createCoordination,
  LOCK_LIMITS,
} from '../../forge/core/coordination.ts'
import {
  type Clock,
  createBackground,
  MetricsSource,
  type Signals,
  type SshPort,
} from '../../forge/core/core.ts'
import { UNLIMITED_DISK } from '../../forge/core/disk-space.ts'
import { createSignal, type Signal } from '../../forge/core/signal.ts'
import { VERSION } from '../../forge/core/version.ts'
import { createPayloads } from '../../forge/deliveries/payloads.message.ts'
import { projectImports } from '../../forge/imports/project-imports.ts'
import { conversations } from '../../forge/issues/open-issues.ts'
import { finishReferenceWork, issueRefObserver } from '../../forge/issues/pushed-references.ts'
import { pullRefObserver } from '../../forge/pulls/branch-sync/pull-branches.ts'
import { createMergeChecks } from '../../forge/pulls/merging/mergeability.ts'
import { createSignatureChecks } from '../../forge/repositories/commits/commit-verification.ts'
import { createCommitSigning } from '../../forge/repositories/commits/server-commits.ts'
import { COPY_LIMITS, createCopySlots } from '../../forge/repositories/lifecycle/copies.ts'
import { pushMirrorRefObserver } from '../../forge/repositories/lifecycle/push-mirrors.ts'
import { MaintenanceFigures } from '../../forge/repositories/maintenance/figures.ts'
import { QuotaRefusals } from '../../forge/repositories/quotas/quota-refusals.ts'
import { hookRefObserver } from '../../forge/webhooks/outbox/ref-observer.ts'
import { createOnce } from '../../platform/concurrency/once.ts'
import { createSharedExclusive } from '../../platform/database/coordination/locks.ts'
import { shareSignals } from '../../platform/database/coordination/signals.ts'
import { createSharedSlots } from '../../platform/database/coordination/slots.ts'
import { runOnOneServer } from '../../platform/database/coordination/workers.ts'
import { parseAllowedHosts } from '../../platform/outbound/allowed-hosts.ts'
import { createOutbound } from '../../platform/outbound/outbound.ts'
import { objectsOf, repositoriesOf, type Shared } from '../data-folder.ts'

/** The clock of the system. */
export const systemClock: Clock = { now: () => Date.now() }

/** The command line serves nothing. */
const NO_SSH: SshPort = {
  urlOf: () => '',
  host: () => undefined,
  sessions: () => [],
  endSession: () => false,
}

/** The parts of an `App` that its caller provides. */
type AppParts = Pick<App, 'db' | 'settings' | 'log'> &
  Partial<
    Pick<
      App,
      | 'clock'
      | 'mail'
      | 'publicUrl'
      | 'ssh'
      | 'outbound'
      | 'markup'
      | 'disk'
      | 'objects'
      | 'passwords'
    >
  > & {
    /** Absolute path of the data folder. */
    readonly folder: string
    /** State shared with the other servers of the database. */
    readonly shared?: (Shared & { readonly scratch: string }) | undefined
  }

/**
 * Creates the application over an open database.
 *
 * Without the optional parts, the application sends no mail, knows no public URL and connects to no
 * private host, as the command line needs.
 */
export async function createApp({
  db,
  folder,
  shared,
  settings,
  log,
  clock = systemClock,
  mail,
  publicUrl = () => '',
  ssh = NO_SSH,
  markup,
  disk = UNLIMITED_DISK,
  objects = objectsOf(folder),
  passwords = createPasswordHasher(),
  outbound = createOutbound({ allowedHosts: parseAllowedHosts(''), ownAddresses: () => [] }),
}: AppParts): Promise<App> {
  const keys = await loadInstanceKeys(db, clock)
  return {
    db,
    git: repositoriesOf(folder, shared),
    objects,
    clock,
    settings,
    log,
    keys,
    mail,
    publicUrl,
    ssh,
    outbound,
    metrics: new MetricsSource(),
    disk,
    markup,
    commitSigning: createCommitSigning(keys),
    conversations,
    newLabels,
    projectImports,
    refObservers: [pullRefObserver, hookRefObserver, pushMirrorRefObserver, issueRefObserver],
    finishReferenceWork,
    mergeChecks: createMergeChecks(),
    patience: { mergeCheckMs: 3_000, headRefsMs: 2_000, closingMs: 5_000, importMs: 10_000 },
    runningUpdates: new Set(),
    runningArchives: new Set(),
    sizeMeasurements: new Map(),
    quotaRefusals: new QuotaRefusals(),
    maintenance: { running: new Map(), figures: new MaintenanceFigures() },
    passwords,
    guesses: createGuessLimits(clock, shared && (shared.guesses ?? new SharedFailures(db, clock))),
    background: createBackground(log),
    coordination: shared ? createSharedCoordination(shared, log) : createCoordination(),
    signals: shared
      ? shareSignals<keyof Signals, Signal>(shared.session, createSignals())
      : createSignals(),
    copies: shared ? createSharedSlots(shared.locks, 'copies', COPY_LIMITS) : createCopySlots(),
    signatureChecks: createSignatureChecks(),
    payloads: createPayloads(),
    resetRequests: createResetRequests(),
    oauth2: createOAuth2Client({ outbound, userAgent: `branchline/${VERSION}` }),
  }
}

/** Creates the signals of this process. */
function createSignals(): Signals {
  return {
    deliveries: createSignal(),
    mails: createSignal(),
    issueNotices: createSignal(),
    events: createSignal(),
    mirrors: createSignal(),
    imports: createSignal(),
    importSteps: createSignal(),
    adoptions: createSignal(),
    maintenance: createSignal(),
    maintained: createSignal(),
    pushMirrors: createSignal(),
    pullHeads: createSignal(),
    scheduledMerges: createSignal(),
    mergeFollowUps: createSignal(),
    referenceWork: createSignal(),
    repositoryEvents: createSignal(),
  }
}

/** Coordinates work among the servers of one database. */
function createSharedCoordination(shared: Shared, log: Logger): Coordination {
  const { session, locks } = shared
  return {
    exclusive: createSharedExclusive(locks, 'domain', LOCK_LIMITS),
    once: createOnce(),
    async lease() {
      await session.ready()
      return session.lease()
    },
    get serverId() {
      return session.serverId
    },
    runningServers: (serverIds) => session.running(serverIds),
    onOneServer: (name, start) =>
      runOnOneServer(shared, name, start, (err) =>
        log.error({ err, worker: name }, 'a worker failed'),
      ),
  }
}
