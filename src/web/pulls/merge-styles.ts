/** The merge styles with their names in the API, for people, and in the settings of a repository. */
export const MERGE_STYLES = [
  ['merge', 'Merge commit', 'allowMergeCommits'],
  ['rebase', 'Rebase', 'allowRebase'],
  ['rebase-merge', 'Rebase, then a merge commit', 'allowRebaseExplicit'],
  ['squash', 'One commit (squash)', 'allowSquashMerge'],
  ['fast-forward-only', 'Fast-forward only', 'allowFastForwardOnlyMerge'],
] as const
