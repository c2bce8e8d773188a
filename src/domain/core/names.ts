/** A repository by name, as in a path of the API: the name of its owner, and its own. */
export interface RepositoryName {
  readonly owner: string
  readonly repo: string
}

/** A pull request by name: its repository, and its number there. */
export interface PullName extends RepositoryName {
  readonly number: number
}

/** The part of a list that a request asks for. */
export interface Page {
  /** Entries before the page. */
  readonly offset: number
  /** Most entries of the page. */
  readonly limit: number
}

/** Returns the form in which usernames are compared. They are ASCII, so lower case suffices. */
export function nameKey(name: string): string {
  return name.toLowerCase()
}
