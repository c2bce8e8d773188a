/** The name of a repository in paths of the API: its owner's name and its own. */
export interface RepositoryName {
  readonly owner: string
  readonly repo: string
}

/** The name of a pull request: its repository and its number. */
export interface ConversationName extends RepositoryName {
  readonly number: number
}

/** The part of a list that a request asks for. */
export interface Page {
  /** Number of entries before the page. */
  readonly offset: number
  /** Maximum number of entries. */
  readonly limit: number
}

/** Returns the form in which names of accounts and teams are compared. All of them are ASCII. */
export function nameKey(name: string): string {
  return name.toLowerCase()
}
