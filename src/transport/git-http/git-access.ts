import type { Readable, Writable } from 'node:stream'
import type { HttpRequest } from '../http/requests.ts'

/** What a client asks for: to fetch, or to push. */
export type GitService = 'git-upload-pack' | 'git-receive-pack'

/** A repository as a client names it, and what it wants there. Names are as they were sent. */
export interface GitTarget {
  readonly owner: string
  readonly name: string
  readonly service: GitService
}

/** One request to a half of the smart protocol. */
export interface PackRequest {
  /** Says which refs there are, and reads nothing; otherwise answers the request on stdin. */
  readonly advertise: boolean
  /** Of the `Git-Protocol` header; empty without one. */
  readonly protocol: string
  /** Of a request: whether its body is too large to be sent in one piece. */
  readonly isLarge: boolean
}

/** A running half of the smart protocol. */
export interface PackProcess {
  readonly stdin: Writable
  readonly stdout: Readable
  /** Rejects when it could not be started. */
  readonly exited: Promise<{ readonly code: number | null; readonly stderr: string }>
  /** Ends it and everything it started. */
  stop(): void
}

export interface GitGrant {
  readonly outcome: 'granted'
  /** Number of the account that was let in. */
  readonly user: number | undefined
  /**
   * By which places are counted for a peer without an account; undefined for all whom no limit
   * counts, together.
   */
  readonly network: string | undefined
  /** Starts the service that was asked for, on the repository that was asked for. */
  start(request: PackRequest): PackProcess
}

export interface GitRefusal {
  readonly outcome: 'refused'
  /** 401 makes clients ask for credentials. */
  readonly status: number
  /** For the person who runs git, which prints it. */
  readonly message: string
  /** Of the answer, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The repository has another name now. */
export interface GitMove {
  readonly outcome: 'moved'
  readonly owner: string
  readonly name: string
}

/**
 * Decides who may do what. The service that is checked is the one that the grant runs: nothing is
 * looked up in the request a second time.
 */
export type AuthorizeGit = (
  request: HttpRequest,
  target: GitTarget,
) => Promise<GitGrant | GitRefusal | GitMove>
