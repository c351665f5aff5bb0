// For browsers without ES modules: shows the one sentence about the browser's age.
document.getElementById('too-old') ? document.getElementById('too-old').removeAttribute('hidden')
  : document.addEventListener('DOMContentLoaded', function () { document.getElementById('too-old').removeAttribute('hidden'); });
