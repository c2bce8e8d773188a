import { prepareFirst, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db } from '../../../platform/database/schema.ts'
import type { GitHook } from '../schema.ts'

/** Returns the Git hooks of a repository, in no order. */
export const listGitHooks = prepareQuery((db, repositoryId: number) =>
  db.selectFrom('git_hooks').select(['name', 'content']).where('repository_id', '=', repositoryId),
)

const scriptOf = prepareFirst((db, repositoryId: number, name: string) =>
  db
    .selectFrom('git_hooks')
    .select('content')
    .where('repository_id', '=', repositoryId)
    .where('name', '=', name),
)

/** Returns the script of a hook, if there is one. */
export async function findHookScript(
  db: Db,
  repositoryId: number,
  name: string,
): Promise<string | undefined> {
  return (await scriptOf(db, repositoryId, name))?.content
}

/** Inserts or updates the script of a hook. */
export async function putGitHook(db: Db, hook: GitHook): Promise<void> {
  const { content, update_time } = hook
  await db
    .insertInto('git_hooks')
    .values(hook)
    .onConflict((conflict) =>
      conflict.columns(['repository_id', 'name']).doUpdateSet({ content, update_time }),
    )
    .execute()
}

/** Deletes the script of a hook if there is one. */
export async function deleteGitHook(db: Db, repositoryId: number, name: string): Promise<void> {
  await db
    .deleteFrom('git_hooks')
    .where('repository_id', '=', repositoryId)
    .where('name', '=', name)
    .execute()
}
