/** Who made a commit, and when. */
export interface Signer {
  readonly name: string
  readonly email: string
  /** Unix seconds. */
  readonly time: number
  /** Minutes east of UTC. */
  readonly offsetMinutes: number
}
