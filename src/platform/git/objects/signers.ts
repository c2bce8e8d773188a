/** The author or committer of a commit, with the time. */
export interface Signer {
  readonly name: string
  readonly email: string
  /** Unix seconds. */
  readonly time: number
  /** Minutes east of UTC. */
  readonly offsetMinutes: number
}
