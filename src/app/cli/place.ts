import { Command } from 'commander'
import { placeOptions } from '../config/options.ts'

/** Creates a command with the options that name the data of an instance. */
export function commandOnData(name: string): Command {
  const command = new Command(name)
  for (const option of placeOptions()) command.addOption(option)
  return command
}
