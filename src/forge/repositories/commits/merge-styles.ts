import type { MergeStyle } from '../../core/schema.ts'
import type { Repository, UpdateStyle } from '../schema.ts'

/*
 * A file of its own: the options of the command line need the styles, and the primary process of
 * `serve --workers`, which reads the options, must not load what merges.
 */

/** The ways to merge a pull request into its base branch. */
export const MERGE_STYLES: readonly MergeStyle[] = [
  'merge',
  'rebase',
  'rebase-merge',
  'squash',
  'fast-forward-only',
]

/** The ways to update the head branch of a pull request with its base branch. */
export const UPDATE_STYLES: readonly UpdateStyle[] = ['merge', 'rebase']

/** The repository setting that allows each style. */
const SETTINGS = {
  merge: 'allow_merge_commits',
  rebase: 'allow_rebase',
  'rebase-merge': 'allow_rebase_explicit',
  squash: 'allow_squash_merge',
  'fast-forward-only': 'allow_fast_forward_only_merge',
} as const satisfies Record<MergeStyle, keyof Repository>

/** Returns the styles that a repository allows. */
export function allowedStyles(repository: Repository): MergeStyle[] {
  return MERGE_STYLES.filter((style) => repository[SETTINGS[style]] === 1)
}
