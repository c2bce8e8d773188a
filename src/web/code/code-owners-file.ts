/** Possible paths of the file. */
const PATHS = ['CODEOWNERS', 'docs/CODEOWNERS', '.gitea/CODEOWNERS']

/** Returns whether a file may say who owns which files. */
export function isCodeOwnersFile(path: string): boolean {
  return PATHS.includes(path)
}
