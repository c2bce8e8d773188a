/**
 * A refusal in the protocol of Git LFS. Its statuses are those of HTTP, also over SSH
 * (git-lfs, docs/proposals/ssh_adapter.md).
 */
export class LfsError extends Error {
  override readonly name = 'LfsError'
  readonly status: number

  /** @param message a sentence that `git lfs` shows to its user. */
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}
