type Actions = typeof import('./actions/index.ts')

/**
 * Runs the action of a command. Its code is loaded now: `--help` and `version` need none of it and
 * would otherwise take three times as long.
 *
 * @throws an error with a message for the operator.
 */
export async function run(action: (actions: Actions) => Promise<void>): Promise<void> {
  const actions = await import('./actions/index.ts')
  try {
    await action(actions)
  } catch (error) {
    throw actions.explained(error)
  }
}
