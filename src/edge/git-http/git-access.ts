import type { Readable, Writable } from 'node:stream'
import type { HttpRequest } from '../../platform/http/requests.ts'

/** A service of the smart protocol: a fetch or a push. */
export type GitService = 'git-upload-pack' | 'git-receive-pack'

/** The repository and the service that a client asks for. Names are as the client sent them. */
export interface GitTarget {
  readonly owner: string
  readonly name: string
  readonly service: GitService
}

/** The commands of a push (gitprotocol-pack(5)), as far as they were read before Git starts. */
export interface PushCommands {
  /** Full names of the refs that the push creates or moves. */
  readonly names: readonly string[]
  /** Whether all refs move or none. */
  readonly isAtomic: boolean
}

/** One request to a service. */
export interface PackRequest {
  /** Whether to list the refs without reading stdin, rather than answer the request on stdin. */
  readonly advertise: boolean
  /**
   * Whether the process serves one client to its end, rather than one request: a fetch over SSH.
   * Default: false.
   */
  readonly isWhole?: boolean
  /** The `Git-Protocol` header, empty without one. */
  readonly protocol: string
  /** Whether the body is too large for a client to send in one piece. */
  readonly isLarge: boolean
  /** The commands of a push. */
  readonly commands?: PushCommands
}

/** A request to the service of fetches that may ask for refs. */
export interface RefRequest {
  /** The `Git-Protocol` header, empty without one. */
  readonly protocol: string
  /** The decoded body, undefined for a request that lists the refs. */
  readonly body: Buffer | undefined
}

/** A running Git process that answers one request. */
export interface PackProcess {
  readonly stdin: Writable
  readonly stdout: Readable
  /** Rejects when the process could not be started. */
  readonly exited: Promise<{ readonly code: number | null; readonly stderr: string }>
  /** Ends the process and all processes that it started. */
  stop(): void
}

export interface GitGrant {
  readonly outcome: 'granted'
  /** Id of the caller's account, undefined without one. */
  readonly user: number | undefined
  /**
   * The network that slots count for when the peer has no account. Peers that no limit applies to
   * have undefined, and share one count.
   */
  readonly network: string | undefined
  /** Starts the requested service on the requested repository. */
  start(request: PackRequest): PackProcess
  /**
   * Returns what the process would print, when the server knows this. Absent from the service for
   * pushes.
   */
  answerRefs?(request: RefRequest): Promise<Buffer[] | undefined>
  /**
   * Returns a pack that other clients asked for a moment before, as the process would print it. Undefined when
   * the process has to answer. Absent from the service for pushes.
   */
  answerFetch?(request: RefRequest): Promise<AsyncIterable<Buffer> | undefined>
}

export interface GitRefusal {
  readonly outcome: 'refused'
  /** HTTP status; 401 makes clients ask for credentials. */
  readonly status: number
  /** A sentence that Git prints for the user. */
  readonly message: string
  /** Additional headers of the response, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The current name of a repository that was moved. */
export interface GitMove {
  readonly outcome: 'moved'
  readonly owner: string
  readonly name: string
}

/**
 * Authorises a request. The grant runs exactly the service that was checked, and reads nothing from
 * the request again.
 */
export type AuthorizeGit = (
  request: HttpRequest,
  target: GitTarget,
) => Promise<GitGrant | GitRefusal | GitMove>
