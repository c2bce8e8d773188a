import { encodePath, repositoryHref } from '../addresses.ts'

/** Returns the address of the merge queue of a branch. */
export function queueHref(name: { owner: string; repo: string }, branch: string): string {
  return `${repositoryHref(name)}/queue/${encodePath(branch)}`
}
