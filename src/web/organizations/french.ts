import type { Catalogue } from '../language/catalogue.ts'

/** Texts of organisations, in French. */
export const french = {
  'Your organisations': 'Vos organisations',
  'You are in no organisation.': 'Vous ne faites partie d’aucune organisation.',
  'New organisation': 'Nouvelle organisation',
  'An organisation owns repositories, and its teams say who may do what.':
    'Une organisation possède des dépôts, et ses équipes déterminent qui peut faire quoi.',
  'Create the organisation': 'Créer l’organisation',
  'Display name (optional)': 'Nom affiché (facultatif)',
  'Public: everybody': 'Public : tout le monde',
  'Limited: everybody with an account': 'Limité : toute personne qui a un compte',
  'Private: members': 'Privé : les membres',
  People: 'Personnes',
  'Settings of the organisation': 'Paramètres de l’organisation',
  Members: 'Membres',
  'No member is public.': 'Aucun membre n’est public.',
  'and {count} others': { one: 'et {count} autre', other: 'et {count} autres' },
  Teams: 'Équipes',
  'No teams are visible to you.': 'Aucune équipe n’est visible pour vous.',
  'Settings of an organisation': 'Paramètres d’une organisation',
  'Only owners of the organisation see and change its settings.':
    'Seuls les propriétaires de l’organisation peuvent voir et modifier ses paramètres.',
  'No members.': 'Aucun membre.',
  Location: 'Lieu',
  'Administrators of a repository choose its teams':
    'Les administrateurs d’un dépôt choisissent ses équipes',
  'Delete the organisation': 'Supprimer l’organisation',
  'The organisation must have no repositories. Its teams are deleted too, and its name is free afterwards.':
    'L’organisation ne doit avoir aucun dépôt. Ses équipes sont également supprimées, et son nom est ensuite libre.',
  'Members are the users in the {teams}. Who is removed here leaves all teams.':
    'Les membres sont les utilisateurs des {teams}. Une personne retirée ici quitte toutes les équipes.',
  teams: 'équipes',
  'New team': 'Nouvelle équipe',
  'All teams': 'Toutes les équipes',
  'The team has access to all repositories of the organisation.':
    'L’équipe a accès à tous les dépôts de l’organisation.',
  'Add a member': 'Ajouter un membre',
  'Add the member': 'Ajouter le membre',
  'Add a repository': 'Ajouter un dépôt',
  'Add the repository': 'Ajouter le dépôt',
  'Repository of the organisation': 'Dépôt de l’organisation',
  'Delete the team': 'Supprimer l’équipe',
  'Members without another team leave the organisation.':
    'Les membres sans autre équipe quittent l’organisation.',
  'Everybody who may see the organisation': 'Toute personne qui peut voir l’organisation',
  'Members of the organisation': 'Les membres de l’organisation',
  'Members of the team, and owners': 'Les membres de l’équipe et les propriétaires',
  Team: 'Équipe',
  'Save the team': 'Enregistrer l’équipe',
  'Create the team': 'Créer l’équipe',
  'Letters, digits, hyphens, underscores and dots.':
    'Lettres, chiffres, traits d’union, tirets bas et points.',
  'Access to its repositories': 'Accès à ses dépôts',
  'None @access': 'Aucun',
  'Who sees the team': 'Qui voit l’équipe',
  'All repositories of the organisation, future ones too':
    'Tous les dépôts de l’organisation, même futurs',
  'Members may create repositories of the organisation':
    'Les membres peuvent créer des dépôts de l’organisation',
} satisfies Catalogue
