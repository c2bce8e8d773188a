import { attachmentsOf, repositoriesOf } from '../data-folder.ts'
import { createGuessLimits } from '../domain/accounts/credentials/guess-limits.ts'
import { loadInstanceKeys } from '../domain/accounts/credentials/instance-keys.ts'
import { createResetRequests } from '../domain/accounts/credentials/password-resets.ts'
import { createPasswordHasher } from '../domain/accounts/credentials/passwords.ts'
import { createOAuth2Client } from '../domain/accounts/sign-on/oauth2.ts'
import type { App } from '../domain/app.ts'
import { createBackground } from '../domain/core/background.ts'
import { createCoordination } from '../domain/core/coordination.ts'
import type { Clock } from '../domain/core/core.ts'
import { createSignal } from '../domain/core/signal.ts'
import { hookRefObserver } from '../domain/hooks/ref-observer.ts'
import { parseAllowedHosts } from '../domain/outbound/allowed-hosts.ts'
import { createOutbound } from '../domain/outbound/outbound.ts'
import { pullRefObserver } from '../domain/pulls/branch-sync/ref-observer.ts'
import { createMergeChecks } from '../domain/pulls/merging/mergeability.ts'
import { createCopyLimits } from '../domain/repos/lifecycle/copy-limits.ts'
import { createCommitSigning } from '../domain/repos/reading/commit-signing.ts'
import { createSignatureChecks } from '../domain/repos/reading/commit-verification.ts'
import { createPayloads } from '../transport/payloads.ts'
import { VERSION } from '../version.ts'

/** The clock of the system. */
export const systemClock: Clock = { now: () => Date.now() }

/** The parts of an `App` that its caller provides. */
export type AppParts = Pick<App, 'db' | 'settings' | 'log'> &
  Partial<Pick<App, 'clock' | 'mail' | 'publicUrl' | 'outbound'>> & {
    /** Absolute path of the data folder. */
    readonly folder: string
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
  settings,
  log,
  clock = systemClock,
  mail,
  publicUrl = () => '',
  outbound = createOutbound({ allowedHosts: parseAllowedHosts(''), ownAddresses: () => [] }),
}: AppParts): Promise<App> {
  const keys = await loadInstanceKeys(db, clock)
  return {
    db,
    git: repositoriesOf(folder),
    attachments: attachmentsOf(folder),
    clock,
    settings,
    log,
    keys,
    mail,
    publicUrl,
    outbound,
    commitSigning: createCommitSigning(keys),
    refObservers: [pullRefObserver, hookRefObserver],
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
    copies: createCopyLimits(),
    signatureChecks: createSignatureChecks(),
    payloads: createPayloads(),
    resetRequests: createResetRequests(),
    oauth2: createOAuth2Client({ outbound, userAgent: `branchline/${VERSION}` }),
  }
}
